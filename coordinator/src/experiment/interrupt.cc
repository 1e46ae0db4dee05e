#include "ditar/coordinator/interrupt.h"

#include "ditar/config/error.h"

#include <csignal>

namespace ditar {
namespace {

std::atomic<bool> flag{false};
std::atomic<int> received{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int number) {
  received.store(number);
  flag.store(true);
}

}  // namespace

std::atomic<bool>& interrupt_flag() noexcept { return flag; }
std::atomic<int>& interrupt_signal() noexcept { return received; }

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

void throw_if_interrupted() {
  if (!flag.load()) return;
  const bool from_keyboard = received.load() == SIGINT;
  throw Error("interrupted; nothing is lost: the next command closes the open attempt",
              from_keyboard ? ExitCode::kInterrupted : ExitCode::kTerminated);
}

}  // namespace ditar
