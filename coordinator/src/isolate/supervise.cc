#include "isolate/supervise.h"

#include "isolate/confine.h"
#include "isolate/namespaces.h"
#include "isolate/private_root.h"
#include "isolate/system_fault.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>

namespace ditar::isolate {
namespace {

constexpr std::array<int, 6> kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR2, SIGCONT};

/// What the inner processes say to the outer one.
struct Report {
  int status = 0;                 ///< of the command, as wait() tells
  std::array<char, 512> fault{};  ///< why there was no command; empty if there was
};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kForwarded) sigaddset(&set, number);
  sigaddset(&set, SIGCHLD);
  return set;
}

bool is_over(int life_fd) {
  pollfd life{life_fd, 0, 0};
  return life_fd >= 0 && ::poll(&life, 1, 0) > 0;
}

/// Waits for `child`, passing signals on to it; once the other end of `life_fd` (-1: none) is
/// closed, the next signal kills it. Reaps whatever else ends.
int wait_forwarding(pid_t child, int life_fd) {
  const sigset_t set = watched_signals();
  while (true) {
    int status = 0;
    for (pid_t ended = 1; ended > 0;) {
      ended = ::waitpid(-1, &status, WNOHANG);
      if (ended == child) return status;
    }
    const int number = ::sigwaitinfo(&set, nullptr);
    if (number > 0 && is_over(life_fd)) {
      ::kill(child, SIGKILL);
    } else if (number > 0 && number != SIGCHLD) {
      ::kill(child, number);
    }
  }
}

/// Without a pid namespace: ends what the command left, which became children of this process.
void end_children() {
  for (bool any = true; any;) {
    any = false;
    std::error_code fault;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", fault)) {
      const int pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      std::ifstream file(entry.path() / "stat");
      std::string text;
      std::getline(file, text, '\0');
      const std::size_t close = text.rfind(')');
      // ") S 123 ...": state, then the parent.
      if (close == std::string::npos || std::atoi(text.c_str() + close + 3) != ::getpid()) continue;
      any = true;
      ::kill(pid, SIGKILL);
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
}

void say(int fd, const Report& report) { (void)!::write(fd, &report, sizeof report); }

Report report_of(const std::exception& error) {
  Report report;
  const auto* known = dynamic_cast<const Error*>(&error);
  const std::string text = known != nullptr ? known->message() : error.what();
  text.copy(report.fault.data(), report.fault.size() - 1);
  return report;
}

/// The command's process; its fault goes to `fault_fd`, which a started program closes.
[[noreturn]] void be_command(const FenceOptions& options, int fault_fd) {
  try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGUSR1, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    confine_and_run(options);
  } catch (const std::exception& error) {
    say(fault_fd, report_of(error));
  }
  ::_exit(125);
}

/// The first process inside.
[[noreturn]] void be_inner(const FenceOptions& options, int report_fd, int life_fd) {
  try {
    // Without a pid namespace this process has to outlive the outer one until all is ended.
    ::prctl(PR_SET_PDEATHSIG, options.layers.pid ? SIGKILL : SIGTERM);
    if (is_over(life_fd)) ::_exit(125);  // the outer one died before that was set
    ::prctl(PR_SET_NAME, "dit-isolate");
    ::setsid();  // refused for a leader's child of the same session: it has one already
    if (!options.layers.pid) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (options.layers.mount) finish_private_root(options.layers);
    const pid_t command = ::fork();
    if (command < 0) fail_system("start a process");
    if (command == 0) be_command(options, report_fd);
    Report report;
    report.status = wait_forwarding(command, life_fd);
    if (!options.layers.pid) end_children();
    say(report_fd, report);
    ::_exit(0);
  } catch (const std::exception& error) {
    say(report_fd, report_of(error));
  }
  ::_exit(125);
}

}  // namespace

int run_fenced(const FenceOptions& options) {
  const sigset_t set = watched_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGUSR1, SIG_IGN);  // asks ranks for a stack dump; not meant for the fence
  ::close_range(3, ~0U, 0);
  enter_namespaces(options.layers);
  if (options.layers.mount) enter_private_root(options);
  std::array<int, 2> report{}, life{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0 || ::pipe2(life.data(), O_CLOEXEC) != 0) {
    fail_system("make a pipe");
  }
  const pid_t inner = ::fork();
  if (inner < 0) fail_system("start the first process inside");
  if (inner == 0) {
    ::close(report[0]);
    ::close(life[1]);
    be_inner(options, report[1], life[0]);
  }
  ::close(report[1]);
  ::close(life[0]);
  const int inner_status = wait_forwarding(inner, -1);
  Report said;
  const bool heard = ::read(report[0], &said, sizeof said) == static_cast<ssize_t>(sizeof said);
  if (!heard) return inner_status;
  if (said.fault.front() != '\0') throw IoError(said.fault.data());
  return said.status;
}

}  // namespace ditar::isolate
