// A Communicator between threads with just what the engine's splits use: send, recv, all_gather and
// split over mailboxes. Everything else throws. For tests of the engine alone.
#pragma once

#include "ditar/config/error.h"
#include "ditar/parallel/communicator.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace ditar {

/// Mailboxes shared by all ranks, addressed by (group tag, from, to).
struct Mailboxes {
  using Address = std::tuple<int, int, int>;
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<Address, std::deque<std::vector<char>>> boxes;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Mailboxes& boxes, int tag, int rank, int size)
      : boxes_(&boxes), tag_(tag), rank_(rank), size_(size) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string kind() const override { return "threads"; }

  void send(const void* data, std::int64_t count, DType dtype, int peer, StreamView) override {
    const auto* bytes = static_cast<const char*>(data);
    const std::int64_t size = count * (dtype == DType::kF64 ? 8 : 4);
    const std::lock_guard lock(boxes_->mutex);
    boxes_->boxes[{tag_, rank_, peer}].emplace_back(bytes, bytes + size);
    boxes_->arrived.notify_all();
  }
  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView) override {
    std::unique_lock lock(boxes_->mutex);
    auto& box = boxes_->boxes[{tag_, peer, rank_}];
    if (!boxes_->arrived.wait_for(lock, std::chrono::seconds(60), [&] { return !box.empty(); })) {
      throw TimeoutError("recv: the peer did not send");
    }
    const std::vector<char> message = std::move(box.front());
    box.pop_front();
    require(static_cast<std::int64_t>(message.size()) == count * (dtype == DType::kF64 ? 8 : 4),
            "recv: the message has another size");
    std::memcpy(data, message.data(), message.size());
  }
  void all_gather(const void* mine, void* all, std::int64_t count, DType dtype,
                  StreamView stream) override {
    const std::int64_t bytes = count * (dtype == DType::kF64 ? 8 : 4);
    for (int peer = 0; peer < size_; ++peer) send(mine, count, dtype, peer, stream);
    for (int peer = 0; peer < size_; ++peer) {
      recv(static_cast<char*>(all) + peer * bytes, count, dtype, peer, stream);
    }
  }
  std::unique_ptr<Communicator> split(int color, int) override {
    std::vector<std::int32_t> colors(static_cast<std::size_t>(size_));
    all_gather(&color, colors.data(), 1, DType::kI32, {});
    int below = 0, members = 0;
    for (int peer = 0; peer < size_; ++peer) {
      if (colors[static_cast<std::size_t>(peer)] != color) continue;
      below += peer < rank_ ? 1 : 0;
      ++members;
    }
    return std::make_unique<ThreadCommunicator>(*boxes_, 100 * (tag_ + 1) + color, below, members);
  }
  void all_reduce_sum(const void*, void*, std::int64_t, DType, StreamView) override { refuse(); }
  void reduce_scatter_sum(const void*, void*, std::int64_t, DType, StreamView) override {
    refuse();
  }
  void all_to_all(const void*, void*, std::int64_t, DType, StreamView) override { refuse(); }
  void broadcast(void*, std::int64_t, DType, int, StreamView) override { refuse(); }
  void wait(StreamView, std::chrono::milliseconds) override {}
  void abort() noexcept override {}

 private:
  [[noreturn]] static void refuse() { throw Error("the engine's splits do not use this call"); }
  Mailboxes* boxes_;
  int tag_, rank_, size_;
};

/// Runs `body` once for each rank, each in a thread of its own.
inline void run_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  Mailboxes boxes;
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> faults(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCommunicator communicator(boxes, 0, rank, ranks);
        body(communicator);
      } catch (...) {
        faults[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
}

}  // namespace ditar
