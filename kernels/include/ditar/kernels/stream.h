// Order of work on a device. Functions that enqueue take a StreamView; nothing uses an implicit
// current stream. On the CPU work is done before the call returns, and a stream has no state.
#pragma once

#include "ditar/kernels/device.h"

namespace ditar {

/// Non-owning. `native` is a cudaStream_t on CUDA (see cuda_native.h) and null on the CPU.
class StreamView {
 public:
  StreamView() = default;  ///< the CPU's stream
  StreamView(Device device, void* native) noexcept : device_(device), native_(native) {}

  Device device() const noexcept { return device_; }
  void* native() const noexcept { return native_; }
  /// Blocks until everything enqueued so far is done. @throws CudaError if any of it failed.
  void synchronize() const;

 private:
  Device device_{};
  void* native_ = nullptr;
};

/// Owns one stream of `device`. Move-only.
class Stream {
 public:
  explicit Stream(Device device);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamView view() const noexcept { return view_; }
  operator StreamView() const noexcept { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  StreamView view_;
};

/// A point in a stream's order. Move-only. On the CPU it stamps the steady clock.
class Event {
 public:
  explicit Event(Device device, bool timed = false);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(StreamView stream);
  /// Makes later work of `stream` wait for the recorded point; does not block the host.
  void wait(StreamView stream) const;
  /// Whether the recorded point is reached; does not block. @throws CudaError if work before it
  /// failed.
  bool reached() const;
  /// Blocks the host until the recorded point is reached.
  void synchronize() const;
  /// Milliseconds from `start` to this event; both recorded, both timed. Blocks.
  float elapsed_ms_since(const Event& start) const;

 private:
  Device device_;
  void* native_ = nullptr;
  long long host_ns_ = 0;
};

}  // namespace ditar
