#include "stack_dump.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace ditar {

namespace {

constexpr int kMostFrames = 64;

extern "C" void dump_stack(int /*signal*/) {
  const int saved = errno;
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
  errno = saved;
}

}  // namespace

void install_stack_dump() {
  void* warm[1];
  (void)::backtrace(warm, 1);  // the first call loads a library, which a handler must not
  struct sigaction action {};
  action.sa_handler = dump_stack;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace ditar
