// The meeting place of ranks that are threads: every collective is "publish a pointer, meet, read
// the others', meet". Private to parallel/src. Thread-safe.
#pragma once

#include "ditar/parallel/pulse.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ditar {

class InProcessGroup {
 public:
  InProcessGroup(int size, std::chrono::milliseconds deadline);

  int size() const noexcept { return size_; }
  std::chrono::milliseconds deadline() const noexcept { return deadline_; }

  /// What a rank shows the others during one collective.
  struct Offer {
    const void* data = nullptr;
    std::int64_t count = 0;
    int tag = 0;  ///< must agree: the kind of collective, dtype and root
    int color = 0, key = 0;
  };
  /// Publishes, waits for all, and gives all offers in rank order; they stay valid until leave().
  /// @throws TimeoutError naming `what` and the ranks that did not come; Error after an abort;
  /// InvalidArgument if the ranks do not make the same call.
  std::vector<Offer> meet(int rank, const Offer& mine, const std::string& what);
  /// Waits until every rank has read what it wanted.
  void leave(int rank, const std::string& what);

  /// Point to point: `receive` blocks for a send of the same pair, `send` until it is taken.
  void send(int rank, int peer, const Offer& offer);
  /// The two halves of send: `offer` must live until await_taken() returns.
  void post(int rank, int peer, const Offer& offer);
  void await_taken(int rank, int peer);
  void receive(int rank, int peer, void* target, std::size_t size_bytes, const Offer& wanted);

  /// The subgroup that all ranks with one color join; made by the first that asks in a generation.
  std::shared_ptr<InProcessGroup> subgroup(int generation, int color, int size);

  void abort() noexcept;
  bool aborted() const;

 private:
  void barrier(std::unique_lock<std::mutex>& lock, int rank, const std::string& what);
  void check_alive(int rank, const std::string& what) const;
  [[noreturn]] void time_out(int rank, const std::string& what, const std::string& missing);
  /// Waits for `ready` or an abort, past the deadline only while a rank of `late` is in an op that
  /// announced that it takes longer. @return whether `ready` came true.
  bool await(std::unique_lock<std::mutex>& lock, int rank, const std::string& what,
             const std::function<bool()>& ready, const std::function<bool(int)>& late);
  bool announced_more(const std::function<bool(int)>& late) const;
  /// "rank 1 (last seen in mlp.fc1 of block 3, step 2)".
  std::string describe(int rank) const;

  struct Mail {
    const Offer* offer = nullptr;
  };

  const int size_;
  const std::chrono::milliseconds deadline_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Offer> offers_;
  std::vector<std::shared_ptr<PulsePage>> pulses_;  ///< of the ranks that have one
  std::vector<bool> arrived_;
  int arrivals_ = 0;
  std::uint64_t generation_ = 0;
  bool aborted_ = false;
  std::map<std::pair<int, int>, Mail> mail_;
  std::map<std::pair<int, int>, std::shared_ptr<InProcessGroup>> children_;
};

}  // namespace ditar
