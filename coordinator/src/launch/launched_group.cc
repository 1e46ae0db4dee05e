#include "launched_group.h"

#include "ditar/config/error.h"
#include "ditar/config/log.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace ditar {

namespace {
constexpr std::chrono::seconds kKillPatience{10};
constexpr const char* kLockName = "lock";
}  // namespace

void sweep_temporary_folders(const std::filesystem::path& parent) {
  std::error_code ignored;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with("ditar-")) folders.push_back(entry.path());
  }
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path lock = folder / kLockName;
    struct stat facts {};
    if (::lstat(lock.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (facts.st_uid != ::geteuid()) continue;
    try {
      const FileLock ours(lock);  // who made the folder is gone
      std::filesystem::remove_all(folder, ignored);
    } catch (const Error&) {  // it lives
    }
  }
}

TemporaryFolder::TemporaryFolder() {
  sweep_temporary_folders("/tmp");
  // Under another name until it is locked, so that nobody else's sweep takes it for left behind.
  char name[] = "/tmp/.ditar-XXXXXX";
  if (::mkdtemp(name) == nullptr) {
    throw IoError(std::string("cannot make a temporary folder under /tmp: ") +
                  std::strerror(errno));
  }
  lock_.emplace(std::filesystem::path(name) / kLockName);
  path_ = std::string("/tmp/") + (name + sizeof("/tmp/.") - 1);
  std::error_code fault;
  std::filesystem::rename(name, path_, fault);
  if (fault) {
    std::filesystem::remove_all(name, fault);
    throw IoError("cannot make " + path_.string() + " under /tmp: " + fault.message());
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

LaunchedGroup::LaunchedGroup(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, std::string tag,
                             const std::filesystem::path& log_file, std::int64_t log_cap_bytes)
    : tag_(std::move(tag)),
      log_(log_file, log_cap_bytes),
      child_(argv, environment, "/", log_.input()) {
  log_.close_input();
}

LaunchedGroup::~LaunchedGroup() {
  try {
    end(std::chrono::milliseconds(0));
  } catch (const std::exception& error) {
    log_error(error.what());
  }
}

std::vector<pid_t> LaunchedGroup::pids() const { return find_tagged(tag_, child_.pid()); }

void LaunchedGroup::signal_ranks(int number) const noexcept {
  try {
    for (const pid_t pid : find_tagged(tag_, -1)) {
      if (pid != child_.pid()) ::kill(pid, number);
    }
  } catch (const std::exception&) {  // a process that cannot be found cannot be signalled
  }
}

void LaunchedGroup::end(std::chrono::milliseconds grace) {
  if (ended_) return;
  using Clock = std::chrono::steady_clock;
  if (grace.count() > 0) {
    child_.signal(SIGTERM);
    const auto until = Clock::now() + grace;
    while (Clock::now() < until && !(child_.poll() && pids().empty())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  const auto until = Clock::now() + kKillPatience;
  std::vector<pid_t> left;
  while (true) {
    child_.signal(SIGKILL);
    (void)child_.poll();
    left = pids();
    if (left.empty() && child_.poll()) break;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    if (Clock::now() > until) {
      std::string names;
      for (const pid_t pid : left) names += " " + std::to_string(pid);
      throw IoError("processes of a worker group cannot be killed:" + names +
                    "; end them by hand before measuring again");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ended_ = true;
}

}  // namespace ditar
