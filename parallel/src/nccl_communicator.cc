// Non-blocking NCCL: every host-side call is polled with a deadline, and asynchronous errors are
// looked at while waiting, so that a peer that is gone ends the wait.
#include "ditar/config/error.h"
#include "ditar/parallel/nccl.h"
#include "ditar/parallel/pulse.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return ncclFloat64;
    case DType::kF32:
      return ncclFloat32;
    case DType::kF16:
      return ncclFloat16;
    case DType::kBF16:
      return ncclBfloat16;
    case DType::kI64:
      return ncclInt64;
    case DType::kI32:
      return ncclInt32;
    case DType::kI8:
      return ncclInt8;
    case DType::kU8:
      return ncclUint8;
  }
  throw InvalidArgument("NCCL has no such element type");
}

class NcclCommunicator;

/// A communicator and all that were split from it: they are aborted together.
struct Family {
  std::mutex mutex;
  std::vector<NcclCommunicator*> members;
};

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(std::unique_ptr<Communicator> host, Device device,
                   std::chrono::milliseconds deadline, std::shared_ptr<Family> family)
      : host_(std::move(host)), device_(device), deadline_(deadline), family_(std::move(family)) {
    const std::lock_guard lock(family_->mutex);
    family_->members.push_back(this);
  }
  ~NcclCommunicator() override {
    {
      const std::lock_guard lock(family_->mutex);
      std::erase(family_->members, this);
    }
    abort_own();  // destroying is collective, a rank may be gone
  }

  int rank() const noexcept override { return host_->rank(); }
  int size() const noexcept override { return host_->size(); }
  std::string kind() const override { return "nccl"; }
  bool enqueues() const noexcept override { return true; }

  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    if (on_host(stream)) return host_->all_reduce_sum(send, recv, count, dtype, stream);
    require(dtype != DType::kI8 && dtype != DType::kU8,
            "ranks cannot sum 8-bit integers: the sum would wrap; use i32");
    enqueue("all_reduce_sum", [&] {
      return ncclAllReduce(send, recv, elements(count), type_of(dtype), ncclSum, comm(),
                           native(stream));
    });
  }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    if (on_host(stream)) return host_->all_gather(send, recv, count, dtype, stream);
    enqueue("all_gather", [&] {
      return ncclAllGather(send, recv, elements(count), type_of(dtype), comm(), native(stream));
    });
  }
  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    if (on_host(stream)) return host_->reduce_scatter_sum(send, recv, count, dtype, stream);
    enqueue("reduce_scatter_sum", [&] {
      return ncclReduceScatter(send, recv, elements(count), type_of(dtype), ncclSum, comm(),
                               native(stream));
    });
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    if (on_host(stream)) return host_->all_to_all(send, recv, count, dtype, stream);
    require(send != recv || count == 0, "all_to_all cannot work in place");
    const std::size_t block = elements(count) * size_of(dtype);
    grouped("all_to_all", [&] {
      for (int peer = 0; peer < size(); ++peer) {
        const std::size_t at = static_cast<std::size_t>(peer) * block;
        post(ncclSend(static_cast<const char*>(send) + at, elements(count), type_of(dtype), peer,
                      comm(), native(stream)),
             "all_to_all");
        post(ncclRecv(static_cast<char*>(recv) + at, elements(count), type_of(dtype), peer, comm(),
                      native(stream)),
             "all_to_all");
      }
    });
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    if (on_host(stream)) return host_->broadcast(data, count, dtype, root, stream);
    enqueue("broadcast", [&] {
      return ncclBroadcast(data, data, elements(count), type_of(dtype), root, comm(),
                           native(stream));
    });
  }
  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    if (on_host(stream)) return host_->send(data, count, dtype, peer, stream);
    enqueue("send", [&] {
      return ncclSend(data, elements(count), type_of(dtype), peer, comm(), native(stream));
    });
  }
  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    if (on_host(stream)) return host_->recv(data, count, dtype, peer, stream);
    enqueue("recv", [&] {
      return ncclRecv(data, elements(count), type_of(dtype), peer, comm(), native(stream));
    });
  }
  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    if (on_host(stream)) return host_->send_recv(send, to, recv, from, count, dtype, stream);
    grouped("send_recv", [&] {
      post(ncclSend(send, elements(count), type_of(dtype), to, comm(), native(stream)),
           "send_recv");
      post(ncclRecv(recv, elements(count), type_of(dtype), from, comm(), native(stream)),
           "send_recv");
    });
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    auto child =
        std::make_unique<NcclCommunicator>(host_->split(color, key), device_, deadline_, family_);
    (void)child->comm();  // now, while every rank is here
    return child;
  }

  void wait(StreamView stream, std::chrono::milliseconds timeout) override {
    if (on_host(stream)) return host_->wait(stream, timeout);
    const DeviceGuard guard(device_);
    const auto end = Clock::now() + timeout;
    const PulseWait waiting(last_);
    while (true) {
      const cudaError_t state = cudaStreamQuery(native(stream));
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) {
        throw CudaError(std::string("work before ") + last_ +
                        " failed: " + cudaGetErrorString(state));
      }
      const ncclResult_t error = state_of(last_);
      if (error != ncclInProgress) post(error, last_);
      if (Clock::now() > end) {
        abort();
        throw TimeoutError("rank " + std::to_string(rank()) + " waited " +
                           std::to_string(timeout.count()) + " ms for " + last_);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void abort() noexcept override {
    host_->abort();
    const std::lock_guard lock(family_->mutex);
    for (NcclCommunicator* const member : family_->members) member->abort_own();
  }

 private:
  static bool on_host(StreamView stream) { return stream.device().type == DeviceType::kCpu; }
  static cudaStream_t native(StreamView stream) {
    return static_cast<cudaStream_t>(stream.native());
  }
  static std::size_t elements(std::int64_t count) {
    require(count >= 0, "a collective over " + std::to_string(count) + " elements");
    return static_cast<std::size_t>(count);
  }

  void abort_own() noexcept {
    aborted_ = true;
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
  }
  void check_alive(const char* what) const {
    if (!aborted_) return;
    throw Error("rank " + std::to_string(rank()) + ": the group was aborted during " + what,
                ExitCode::kTemporary);
  }
  /// What NCCL says of the calls so far; ncclSuccess before the first.
  ncclResult_t state_of(const char* what) const {
    const std::lock_guard lock(mutex_);
    check_alive(what);
    ncclResult_t state = ncclSuccess;
    if (comm_ != nullptr) post(ncclCommGetAsyncError(comm_, &state), what);
    return state;
  }
  void post(ncclResult_t code, const char* what) const {
    if (code == ncclSuccess || code == ncclInProgress) return;
    throw NcclError(std::string(what) + " on rank " + std::to_string(rank()) +
                    " failed: " + ncclGetErrorString(code) + " (" + ncclGetLastError(comm_) + ")");
  }
  /// Polls until the host side of the last call is done.
  void settle(const char* what) const {
    const auto end = Clock::now() + deadline_;
    std::optional<PulseWait> waiting;
    while (true) {
      const ncclResult_t state = state_of(what);
      post(state, what);
      if (state != ncclInProgress) return;
      if (!waiting) waiting.emplace(what);
      if (Clock::now() > end) {
        throw TimeoutError("rank " + std::to_string(rank()) + " waited " +
                           std::to_string(deadline_.count()) + " ms in " + what +
                           " for the other ranks");
      }
    }
  }
  template <typename Call>
  void enqueue(const char* what, const Call& call) {
    const DeviceGuard guard(device_);
    (void)comm();
    last_ = what;
    {
      const std::lock_guard lock(mutex_);
      check_alive(what);
      post(call(), what);
    }
    settle(what);
  }
  template <typename Calls>
  void grouped(const char* what, const Calls& calls) {
    enqueue(what, [&] {
      post(ncclGroupStart(), what);
      calls();
      return ncclGroupEnd();
    });
  }

  ncclComm_t comm() {
    if (comm_ != nullptr) return comm_;
    check_alive("its first call");
    const DeviceGuard guard(device_);
    ncclUniqueId id{};
    if (rank() == 0) post(ncclGetUniqueId(&id), "ncclGetUniqueId");
    host_->broadcast(&id, sizeof(id), DType::kU8, 0, {});
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    {
      const std::lock_guard lock(mutex_);
      check_alive("ncclCommInitRank");
      post(ncclCommInitRankConfig(&comm_, size(), id, rank(), &config), "ncclCommInitRank");
    }
    settle("ncclCommInitRank");
    return comm_;
  }

  std::unique_ptr<Communicator> host_;
  const Device device_;
  const std::chrono::milliseconds deadline_;
  const std::shared_ptr<Family> family_;
  mutable std::mutex mutex_;  ///< of comm_ against abort() from another thread
  std::atomic<bool> aborted_ = false;
  ncclComm_t comm_ = nullptr;
  const char* last_ = "the first collective";
};

}  // namespace

bool nccl_built() noexcept { return true; }

std::string nccl_library() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "NCCL";
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> host,
                                                     Device device,
                                                     std::chrono::milliseconds deadline) {
  require(device.type == DeviceType::kCuda, "NCCL works between GPUs only");
  return std::make_unique<NcclCommunicator>(std::move(host), device, deadline,
                                            std::make_shared<Family>());
}

}  // namespace ditar
