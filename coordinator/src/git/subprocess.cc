#include "ditar/coordinator/subprocess.h"

#include "ditar/config/error.h"
#include "ledger/file_io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
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

pid_t spawn(const ProcessSpec& spec, const SpawnFiles& files) {
  std::vector<std::string> words = {spec.program.string()};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : spec.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(words), envp = pointers(variables);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, files.in, 0);
  posix_spawn_file_actions_adddup2(&actions, files.out, 1);
  posix_spawn_file_actions_adddup2(&actions, files.err, 2);
  if (!spec.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, spec.directory.c_str());
  }
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&defaults, signal);
  }
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, spec.program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
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
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (rest.count() <= 0) {
        result_.timed_out = true;
        return;
      }
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

// Waits until the deadline; then the whole group is killed. Always reaps.
int reap(pid_t pid, Clock::time_point deadline, ProcessResult& result) {
  int status = 0;
  bool ended = false;
  auto pause = std::chrono::microseconds(100);
  while (!ended && !result.timed_out && !result.capped) {
    siginfo_t info{};
    ended = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == pid;
    if (!ended && Clock::now() >= deadline) result.timed_out = true;
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
  result.exit_code = reap(pid, deadline, result);
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
