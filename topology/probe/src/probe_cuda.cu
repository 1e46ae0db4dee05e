// Peer copies through CUDA. Each device holds one buffer with kGuard bytes before and after the
// copied range; every byte is a hash of (position, seed), so a shifted, stale or partial copy
// shows. Waiting polls an event against the deadline: a copy that never arrives leaves the device
// stuck, and then nothing of it is freed, because freeing would wait for it.
#include "ditar/config/error.h"
#include "ditar/topology_probe/probe.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <thread>

namespace ditar {
namespace {

constexpr std::size_t kGuard = 256;
constexpr unsigned long long kNone = ~0ULL;
constexpr int kThreads = 256, kBlocks = 512;

std::string error_text(const char* call, cudaError_t code) {
  cudaGetLastError();  // clears an error that is not sticky
  return std::string(call) + ": " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
}

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw CudaError(error_text(call, code));
}

__device__ unsigned char pattern(unsigned long long position, unsigned seed) {
  unsigned long long x = position * 0x9E3779B97F4A7C15ULL + seed;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ULL;
  return static_cast<unsigned char>(x >> 56);
}

__global__ void fill(unsigned char* data, std::size_t bytes, unsigned seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < bytes;
       i += std::size_t{gridDim.x} * blockDim.x) {
    data[i] = pattern(i, seed);
  }
}

/// Inside [begin, end) the pattern of `inside` must stand, elsewhere that of `outside`.
__global__ void compare(const unsigned char* data, std::size_t bytes, std::size_t begin,
                        std::size_t end, unsigned inside, unsigned outside,
                        unsigned long long* first_bad) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < bytes;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const unsigned seed = i >= begin && i < end ? inside : outside;
    if (data[i] != pattern(i, seed)) atomicMin(first_bad, static_cast<unsigned long long>(i));
  }
}

std::string uuid_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

/// The previous device comes back at the end; never throws.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    cudaGetDevice(&previous_);
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~DeviceScope() { cudaSetDevice(previous_); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
};

struct DeviceSide {
  int device = 0;
  std::string uuid;
  unsigned char* data = nullptr;
  unsigned long long* first_bad = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr;
};

class CudaCopier : public PeerCopier {
 public:
  explicit CudaCopier(std::size_t largest) : bytes_(largest + 4 * kGuard) {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) throw Unavailable(error_text("cudaGetDeviceCount", code));
    if (count < 2) {
      throw Unavailable("a peer probe needs two CUDA devices, there are " + std::to_string(count));
    }
    for (int device = 0; device < count; ++device) open(device);
  }

  ~CudaCopier() override {
    if (stuck_) return;
    for (const DeviceSide& side : sides_) {
      cudaSetDevice(side.device);
      cudaFree(side.data);
      cudaFree(side.first_bad);
      cudaEventDestroy(side.start);
      cudaEventDestroy(side.stop);
      cudaStreamDestroy(side.stream);
    }
  }

  std::vector<std::string> devices() const override {
    std::vector<std::string> all;
    for (const DeviceSide& side : sides_) all.push_back(side.uuid);
    return all;
  }

  CopyReport copy(const std::string& from, const std::string& to, std::size_t bytes,
                  std::size_t offset, std::uint32_t seed,
                  std::chrono::milliseconds deadline) override {
    const auto until = std::chrono::steady_clock::now() + deadline;
    try {
      if (stuck_) return {CopyState::kTimeout, 0.0, std::nullopt, "an earlier copy hangs"};
      require(kGuard + offset + bytes + kGuard <= bytes_, "the copy exceeds the probe's buffer");
      return run(find(from), find(to), bytes, kGuard + offset, seed, until);
    } catch (const CudaError& error) {
      return {CopyState::kFailed, 0.0, std::nullopt, error.message()};
    }
  }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  void open(int device) {
    const DeviceScope scope(device);
    DeviceSide side;
    side.device = device;
    side.uuid = uuid_of(device);
    check(cudaMalloc(&side.data, bytes_), "cudaMalloc");
    check(cudaMalloc(&side.first_bad, sizeof(unsigned long long)), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&side.start), "cudaEventCreate");
    check(cudaEventCreate(&side.stop), "cudaEventCreate");
    sides_.push_back(side);
  }

  const DeviceSide& find(const std::string& uuid) const {
    for (const DeviceSide& side : sides_) {
      if (side.uuid == uuid) return side;
    }
    throw InvalidArgument("the probe does not reach " + uuid);
  }

  static void enable(const DeviceSide& from, const DeviceSide& to) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from.device, to.device), "cudaDeviceCanAccessPeer");
    if (can == 0) throw CudaError("CUDA offers no peer access in this direction");
    const DeviceScope scope(from.device);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to.device, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
    } else {
      check(code, "cudaDeviceEnablePeerAccess");
    }
  }

  /// Waits for what is queued on `side`; false, and stuck for good, at the deadline.
  bool wait(const DeviceSide& side, Deadline until) {
    check(cudaEventRecord(side.stop, side.stream), "cudaEventRecord");
    while (true) {
      const cudaError_t code = cudaEventQuery(side.stop);
      if (code == cudaSuccess) return true;
      if (code != cudaErrorNotReady) check(code, "cudaEventQuery");
      cudaGetLastError();
      if (std::chrono::steady_clock::now() >= until) {
        stuck_ = true;
        return false;
      }
      std::this_thread::yield();
    }
  }

  CopyReport run(const DeviceSide& from, const DeviceSide& to, std::size_t bytes, std::size_t begin,
                 unsigned seed, Deadline until) {
    const CopyReport late{CopyState::kTimeout, 0.0, std::nullopt, ""};
    const std::size_t whole = begin + bytes + kGuard;
    enable(from, to);
    {
      const DeviceScope scope(to.device);
      fill<<<kBlocks, kThreads, 0, to.stream>>>(to.data, whole, ~seed);
      check(cudaGetLastError(), "fill");
      check(cudaMemsetAsync(to.first_bad, 0xFF, sizeof(unsigned long long), to.stream),
            "cudaMemsetAsync");
      if (!wait(to, until)) return late;
    }
    float milliseconds = 0.0F;
    {
      const DeviceScope scope(from.device);
      fill<<<kBlocks, kThreads, 0, from.stream>>>(from.data, whole, seed);
      check(cudaGetLastError(), "fill");
      check(cudaEventRecord(from.start, from.stream), "cudaEventRecord");
      check(cudaMemcpyPeerAsync(to.data + begin, to.device, from.data + begin, from.device, bytes,
                                from.stream),
            "cudaMemcpyPeerAsync");
      if (!wait(from, until)) return late;
      check(cudaEventElapsedTime(&milliseconds, from.start, from.stop), "cudaEventElapsedTime");
    }
    const DeviceScope scope(to.device);
    compare<<<kBlocks, kThreads, 0, to.stream>>>(to.data, whole, begin, begin + bytes, seed, ~seed,
                                                 to.first_bad);
    check(cudaGetLastError(), "compare");
    if (!wait(to, until)) return late;
    unsigned long long first_bad = kNone;
    check(cudaMemcpy(&first_bad, to.first_bad, sizeof first_bad, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    CopyReport report{CopyState::kArrived, milliseconds * 1e-3, std::nullopt, ""};
    if (first_bad != kNone) {
      report.first_bad_offset =
          static_cast<std::int64_t>(first_bad) - static_cast<std::int64_t>(begin);
    }
    return report;
  }

  std::size_t bytes_;
  std::vector<DeviceSide> sides_;
  bool stuck_ = false;
};

}  // namespace

std::unique_ptr<PeerCopier> make_cuda_copier(std::size_t largest_bytes) {
  return std::make_unique<CudaCopier>(largest_bytes);
}

}  // namespace ditar
