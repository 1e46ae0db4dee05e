#include "child_process.h"

#include "ditar/config/error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace ditar {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Between fork and exec only async-signal-safe calls are made.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& environment,
                         const char* directory, int output_fd, int report_fd, pid_t parent) {
  const auto fail = [&] {
    const int code = errno;
    (void)!::write(report_fd, &code, sizeof code);
    ::_exit(127);
  };
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1}) {
    ::signal(number, SIG_DFL);
  }
  const int null_fd = ::open("/dev/null", O_RDONLY);
  if (null_fd < 0 || ::dup2(null_fd, 0) < 0) fail();
  if (::dup2(output_fd, 1) < 0 || ::dup2(output_fd, 2) < 0) fail();
  if (::chdir(directory) != 0) fail();
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) fail();
  ::execve(argv[0], argv.data(), environment.data());
  fail();
  ::_exit(127);
}

ExitStatus decode(int status) {
  ExitStatus result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& argv,
                           const std::vector<std::string>& environment,
                           const std::string& directory, int output_fd) {
  const auto arguments = pointers(argv);
  const auto variables = pointers(environment);
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    throw IoError("no pipe to start " + argv[0] + ": " + std::strerror(errno));
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(arguments, variables, directory.c_str(), output_fd, report[1], parent);
  }
  ::close(report[1]);
  int code = pid_ < 0 ? errno : 0;
  if (pid_ > 0) {
    ssize_t got = 0;
    do {
      got = ::read(report[0], &code, sizeof code);
    } while (got < 0 && errno == EINTR);
  }
  ::close(report[0]);
  if (code != 0) {
    if (pid_ > 0) (void)wait(std::chrono::seconds(1));
    pid_ = -1;
    throw IoError("cannot start " + argv[0] + " in " + directory + ": " + std::strerror(code));
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !poll()) {
    signal(SIGKILL);
    (void)wait(std::chrono::seconds(5));
  }
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (!status_ && pid_ > 0) {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_) status_ = decode(status);
    if (got < 0 && errno == ECHILD) status_ = ExitStatus{};
  }
  return status_;
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!poll() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status_;
}

void ChildProcess::signal(int number) noexcept {
  if (pid_ > 0 && !status_) ::kill(pid_, number);
}

CommandOutput run_command(const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment,
                          std::chrono::milliseconds timeout) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw IoError("no pipe to run " + argv[0] + ": " + std::strerror(errno));
  }
  CommandOutput output;
  try {
    ChildProcess child(argv, environment, "/", ends[1]);
    ::close(ends[1]);
    ends[1] = -1;
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::array<char, 4096> block{};
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd item{ends[0], POLLIN, 0};
      if (::poll(&item, 1, 50) <= 0) continue;
      const ssize_t got = ::read(ends[0], block.data(), block.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      if (output.text.size() < 65536) output.text.append(block.data(), static_cast<size_t>(got));
    }
    output.status = child.wait(std::chrono::milliseconds(200)).value_or(ExitStatus{});
  } catch (...) {
    if (ends[1] >= 0) ::close(ends[1]);
    ::close(ends[0]);
    throw;
  }
  ::close(ends[0]);
  return output;
}

}  // namespace ditar
