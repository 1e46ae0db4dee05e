#include "isolate/probe.h"

#include "isolate/landlock_rules.h"
#include "isolate/supervise.h"
#include "isolate/system_calls.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ditar::isolate {
namespace {

/// Runs true(1) inside, in a process of its own.
bool works(const Layers& layers) {
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    int status = 1;
    try {
      FenceOptions options;
      options.layers = layers;
      options.command = {"/bin/true"};
      status = run_fenced(options);
    } catch (const std::exception&) {
      status = 1;
    }
    ::_exit(status == 0 ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Layers reachable_layers() {
  Layers base;
  base.landlock = landlock_version() > 0 && works({false, false, false, false, false, true, false});
  base.seccomp =
      has_system_call_filter() && works({false, false, false, false, false, false, true});
  // From the whole to the least: a container may refuse /proc, a network or all namespaces.
  const std::array<Layers, 5> choices = {{{true, true, true, true, true, false, false},
                                          {true, true, true, true, false, false, false},
                                          {true, true, false, true, true, false, false},
                                          {true, true, false, true, false, false, false},
                                          {true, false, false, true, false, false, false}}};
  for (Layers choice : choices) {
    choice.landlock = base.landlock;
    choice.seccomp = base.seccomp;
    if (works(choice)) return choice;
  }
  return base;
}

}  // namespace ditar::isolate
