#include "heartbeat.h"

#include "ditar/config/error.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace ditar {

namespace {
constexpr int kPeriodMs = 500;
}

Heartbeat::Heartbeat(std::function<void()> beat) : beat_(std::move(beat)) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) throw IoError("the system gives no eventfd for the heartbeat");
  thread_ = std::thread([this] {
    sigset_t all;  // signals are the main thread's: a stack dump must show its stack
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pollfd item{wake_fd_, POLLIN, 0};
    while (::poll(&item, 1, kPeriodMs) <= 0) {
      if (busy_) beat_();
    }
  });
}

Heartbeat::~Heartbeat() {
  const std::uint64_t one = 1;
  while (::write(wake_fd_, &one, sizeof one) < 0) {
  }
  thread_.join();
  ::close(wake_fd_);
}

}  // namespace ditar
