#include "ditar/coordinator/subprocess.h"

#include "ditar/config/error.h"
#include "ledger/file_io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace ditar {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kCancelSlice{50};
constexpr std::chrono::seconds kGrace{3};  ///< between the request to end and the kill

bool is_cancelled(const ProcessSpec& spec) { return spec.cancel != nullptr && spec.cancel->load(); }

struct Pipe {
  FileHandle read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_io("cannot make a pipe", errno);
  return {FileHandle(ends[0]), FileHandle(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct SpawnFiles {
  int in = -1, out = -1, err = -1;
};

/// Between fork and exec only async-signal-safe calls are made. The cause of a failure goes to
/// `report_fd`, which a started program closes.
[[noreturn]] void become(const char* program, char* const* argv, char* const* envp,
                         const char* directory, const SpawnFiles& files, int report_fd,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    ::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(files.in, 0) >= 0 && ::dup2(files.out, 1) >= 0 && ::dup2(files.err, 2) >= 0 &&
      (directory[0] == '\0' || ::chdir(directory) == 0)) {
    ::execve(program, argv, envp);
  }
  const int code = errno;
  (void)!::write(report_fd, &code, sizeof code);
  ::_exit(127);
}

pid_t spawn(const ProcessSpec& spec, const SpawnFiles& files) {
  std::vector<std::string> words = {spec.program.string()};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : spec.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const std::string directory = spec.directory.string();

  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(argv.front(), argv.data(), envp.data(), directory.c_str(), files, report.write.get(),
           parent);
  }
  int error = pid < 0 ? errno : 0;
  report.write = FileHandle();
  if (pid > 0) {
    ssize_t got = 0;
    do {
      got = ::read(report.read.get(), &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  if (error != 0) fail_io("cannot start " + spec.program.string(), error);
  return pid;
}

// Writes the input while reading both outputs, until all are closed or a limit is met.
class Pump {
 public:
  Pump(const ProcessSpec& spec, ProcessResult& result, Clock::time_point deadline)
      : spec_(spec), result_(result), deadline_(deadline) {}

  void run(FileHandle input, FileHandle output, FileHandle errors) {
    std::string_view left = spec_.input;
    if (left.empty()) input = FileHandle();
    while (output.valid() || errors.valid() || input.valid()) {
      std::array<pollfd, 3> polls = {
          {{input.get(), POLLOUT, 0}, {output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}}};
      auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (rest.count() <= 0) {
        result_.timed_out = true;
        return;
      }
      if (is_cancelled(spec_)) return;
      if (spec_.cancel != nullptr) rest = std::min(rest, kCancelSlice);
      if (::poll(polls.data(), polls.size(), static_cast<int>(rest.count())) < 0 &&
          errno != EINTR) {
        fail_io("cannot wait for " + spec_.program.string(), errno);
      }
      if (polls[0].revents != 0) feed(input, left);
      if (polls[1].revents != 0) drain(output, result_.output);
      if (polls[2].revents != 0) drain(errors, result_.errors);
      if (result_.capped) return;
    }
  }

 private:
  static void feed(FileHandle& input, std::string_view& left) {
    const ssize_t put = ::write(input.get(), left.data(), left.size());
    if (put > 0) left.remove_prefix(static_cast<std::size_t>(put));
    if ((put < 0 && errno != EINTR && errno != EAGAIN) || left.empty()) input = FileHandle();
  }

  void drain(FileHandle& from, std::string& to) {
    std::array<char, 1 << 16> chunk;
    const ssize_t got = ::read(from.get(), chunk.data(), chunk.size());
    if (got > 0) to.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) from = FileHandle();
    const auto cap = static_cast<std::size_t>(spec_.output_cap_bytes);
    result_.capped = result_.capped || to.size() > cap;
  }

  const ProcessSpec& spec_;
  ProcessResult& result_;
  Clock::time_point deadline_;
};

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Waits until the deadline or the cancellation; then the whole group is ended. Always reaps.
int reap(const ProcessSpec& spec, pid_t pid, Clock::time_point deadline, ProcessResult& result) {
  int status = 0;
  bool ended = false;
  auto pause = std::chrono::microseconds(100);
  while (!ended && !result.timed_out && !result.capped) {
    ended = has_ended(pid);
    if (!ended && !result.cancelled && is_cancelled(spec)) {
      result.cancelled = true;
      ::kill(-pid, SIGTERM);  // a fence and a build tool end what they started
      deadline = Clock::now() + kGrace;
    }
    if (!ended && Clock::now() >= deadline) {
      if (result.cancelled) break;
      result.timed_out = true;
    }
    if (!ended && !result.timed_out) {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(20'000));
    }
  }
  // The leader is not reaped yet, so its group id cannot belong to anybody else.
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProcessResult run_process(const ProcessSpec& spec) {
  require(spec.program.is_absolute(), "the program's path must be absolute");
  const Clock::time_point deadline = Clock::now() + spec.timeout;
  // A reader that went away must not end this process: SIGPIPE stays blocked in this thread.
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ProcessResult result;
  const bool to_file = !spec.log_file.empty();
  Pipe in = make_pipe(), out, err;
  FileHandle log;
  if (to_file) {
    log = open_file(spec.log_file, O_WRONLY | O_CREAT | O_APPEND);
  } else {
    out = make_pipe();
    err = make_pipe();
  }
  ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  const SpawnFiles files = to_file ? SpawnFiles{in.read.get(), log.get(), log.get()}
                                   : SpawnFiles{in.read.get(), out.write.get(), err.write.get()};
  const pid_t pid = spawn(spec, files);
  in.read = FileHandle();
  out.write = FileHandle();
  err.write = FileHandle();
  Pump(spec, result, deadline).run(std::move(in.write), std::move(out.read), std::move(err.read));
  result.exit_code = reap(spec, pid, deadline, result);
  const timespec now{0, 0};
  if (sigismember(&before, SIGPIPE) != 1) {
    while (sigtimedwait(&pipe_signal, nullptr, &now) == SIGPIPE) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

std::filesystem::path find_program(const std::string& name, const std::string& search_path) {
  const char* inherited = ::getenv("PATH");
  std::string rest = !search_path.empty()   ? search_path
                     : inherited != nullptr ? inherited
                                            : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    const std::filesystem::path file = folder / name;
    std::error_code ignored;
    if (folder.is_absolute() && std::filesystem::is_regular_file(file, ignored) &&
        ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  throw Unavailable("the program \"" + name + "\" is not on PATH; install it");
}

std::map<std::string, std::string> allowed_environment(const std::vector<std::string>& names) {
  std::map<std::string, std::string> found;
  for (const std::string& name : names) {
    if (const char* value = ::getenv(name.c_str()); value != nullptr) found[name] = value;
  }
  return found;
}

}  // namespace ditar
