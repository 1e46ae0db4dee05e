#include "heartbeat.h"

#include "ditar/config/error.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace ditar {

namespace {
constexpr int kPeriodMs = 500;
constexpr int kTerminated = 128 + SIGTERM;

int terminate_fd() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTERM);
  return ::signalfd(-1, &only, SFD_CLOEXEC);
}

}  // namespace

Heartbeat::Heartbeat(std::function<void()> beat, std::vector<int> fds, bool mind_terminate)
    : beat_(std::move(beat)), fds_(std::move(fds)) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) throw IoError("the system gives no eventfd for the heartbeat");
  thread_ = std::thread([this, mind_terminate] { loop(mind_terminate); });
}

void Heartbeat::loop(bool mind_terminate) {
  sigset_t all;  // signals are the main thread's: a stack dump must show its stack
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::vector<pollfd> items{{wake_fd_, POLLIN, 0}};
  if (mind_terminate) items.push_back({terminate_fd(), POLLIN, 0});
  const std::size_t own = items.size();
  for (const int fd : fds_) items.push_back({fd, POLLRDHUP, 0});
  while (true) {
    // Idle, an ended socket would be reported without end.
    ::poll(items.data(), busy_ ? items.size() : own, kPeriodMs);
    if (items[0].revents != 0) break;
    if (busy_) beat_();
    if (mind_terminate && items[1].revents != 0) ::_exit(kTerminated);
    for (pollfd& item : items) item.revents = 0;
  }
  if (mind_terminate) ::close(items[1].fd);
}

Heartbeat::~Heartbeat() {
  const std::uint64_t one = 1;
  while (::write(wake_fd_, &one, sizeof one) < 0) {
  }
  thread_.join();
  ::close(wake_fd_);
}

}  // namespace ditar
