// dit-isolate: the fence around builds and worker groups. See fence_options.h for its command line.
#include "ditar/config/error.h"
#include "isolate/fence_options.h"
#include "isolate/probe.h"
#include "isolate/supervise.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kNoFence = 125;

/// Ends as the command did, by a signal too. Nothing is left to flush or to destroy.
[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(WTERMSIG(status), SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, WTERMSIG(status));
  ::raise(WTERMSIG(status));
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::_exit(128 + WTERMSIG(status));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
      std::fputs(ditar::isolate::kFenceUsage, stdout);
      return 0;
    }
    const auto options = ditar::isolate::parse_fence_options(argc, argv);
    if (options.probe) {
      std::puts(to_string(ditar::isolate::reachable_layers()).c_str());
      return 0;
    }
    end_like(ditar::isolate::run_fenced(options));
  } catch (const ditar::Error& error) {
    std::fprintf(stderr, "dit-isolate: %s\n", error.message().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dit-isolate: %s\n", error.what());
  }
  return kNoFence;
}
