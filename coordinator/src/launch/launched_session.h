// WorkerSession over mpirun and ZeroMQ. Private to coordinator/src/launch. See worker_session.h for
// threads and ownership.
#pragma once

#include "ditar/config/transport.h"
#include "ditar/coordinator/worker_session.h"
#include "launched_group.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace ditar {

class LaunchedSession : public WorkerSession {
 public:
  explicit LaunchedSession(const LaunchPlan& plan);
  ~LaunchedSession() override;

  LoadResult load(const LoadRequest& request) override;
  RunResult run(const RunRequest& request) override;
  void stop() override;
  const std::vector<RankHello>& ranks() const override { return ranks_; }
  std::vector<pid_t> pids() const override;
  WorkerTraces traces() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Wanted {
    MessageType type;
    std::uint64_t seq;
    WorkerPhase phase;
    std::chrono::milliseconds total;
    std::chrono::milliseconds progress;  ///< zero: only `total` counts
  };

  void start();
  void greet(const std::string& nonce, const std::string& build_hash);
  void accept();
  void refuse(const std::string& objection);
  InMessage await(const Wanted& wanted);
  std::optional<InMessage> take(const Wanted& wanted, std::chrono::milliseconds timeout);
  void note_progress(const InMessage& message);
  void check_clocks(const Wanted& wanted, Clock::time_point start);
  /// Fails if mpirun has ended, with what the worker said last if it did; `before`: what it missed.
  void check_launcher(const Wanted& wanted, const std::string& before);
  /// Sends the message, or fails: a crash where the launcher ended, else a fault of the protocol.
  void deliver(const OutMessage& message, WorkerPhase phase, const std::function<void()>& last_out);
  void send(MessageType type, std::uint64_t seq, const std::string& meta, WorkerPhase phase);
  void require_open() const;
  void keep_alive();

  /// Reaps everything and throws. `report`: what the worker itself said, if it did.
  [[noreturn]] void fail(WorkerPhase phase, WorkerFailureKind kind, const std::string& message,
                         int rank = -1);
  [[noreturn]] void fail_reported(WorkerPhase phase, const InMessage& message);

  LaunchPlan plan_;
  AttemptId attempt_;
  TemporaryFolder temporary_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<LaunchedGroup> group_;
  PeerId peer_;
  MessageAssembler assembler_;
  std::vector<RankHello> ranks_;
  std::vector<std::uint64_t> steps_;
  Clock::time_point last_progress_{};
  Clock::time_point last_ping_{};
  Clock::time_point arrived_{};
  std::uint64_t next_seq_ = 1;
  bool over_ = false;

  std::mutex mutex_;  ///< of transport_ and peer_: the caller's thread and the keeper's
  std::condition_variable keeper_wake_;
  std::mutex keeper_mutex_;
  bool keeper_stop_ = false;
  std::thread keeper_;
};

}  // namespace ditar
