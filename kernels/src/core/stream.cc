#include "ditar/kernels/stream.h"

#include "backend_hooks.h"
#include "ditar/config/error.h"

#include <chrono>
#include <utility>

namespace ditar {
namespace {

bool on_cuda(Device device) { return device.type == DeviceType::kCuda; }

long long steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

void StreamView::synchronize() const {
  if (on_cuda(device_)) detail::cuda_stream_synchronize(device_, native_);
}

Stream::Stream(Device device)
    : view_(device, on_cuda(device) ? detail::cuda_stream_create(device) : nullptr) {}

Stream::~Stream() {
  if (view_.native() != nullptr) detail::cuda_stream_destroy(view_.device(), view_.native());
}

Stream::Stream(Stream&& other) noexcept
    : view_(std::exchange(other.view_, StreamView(other.view_.device(), nullptr))) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(view_, other.view_);
  return *this;
}

Event::Event(Device device, bool timed)
    : device_(device),
      native_(on_cuda(device) ? detail::cuda_event_create(device, timed) : nullptr) {}

Event::~Event() {
  if (native_ != nullptr) detail::cuda_event_destroy(device_, native_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_),
      native_(std::exchange(other.native_, nullptr)),
      host_ns_(other.host_ns_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  std::swap(host_ns_, other.host_ns_);
  return *this;
}

void Event::record(StreamView stream) {
  if (on_cuda(device_)) {
    detail::cuda_event_record(device_, native_, stream.native());
  } else {
    host_ns_ = steady_ns();
  }
}

void Event::wait(StreamView stream) const {
  if (on_cuda(device_)) detail::cuda_event_wait(device_, native_, stream.native());
}

void Event::synchronize() const {
  if (on_cuda(device_)) detail::cuda_event_synchronize(device_, native_);
}

bool Event::reached() const {
  return !on_cuda(device_) || detail::cuda_event_reached(device_, native_);
}

float Event::elapsed_ms_since(const Event& start) const {
  require(device_ == start.device_, "events of two devices cannot be subtracted");
  if (on_cuda(device_)) return detail::cuda_event_elapsed_ms(device_, start.native_, native_);
  require(host_ns_ != 0 && start.host_ns_ != 0, "both events must be recorded before subtracting");
  return static_cast<float>(static_cast<double>(host_ns_ - start.host_ns_) * 1e-6);
}

}  // namespace ditar
