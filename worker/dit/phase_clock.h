// Adds up where the time of a request goes; diagnosis only. One thread at a time. Where a device
// works behind the host's back, the host's time at an op is no time of that op: such a clock keeps
// "denoise" as a whole and drops its parts, but can tell a trace of the device which part is being
// enqueued.
#pragma once

#include "ditar/worker/engine.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace ditar {

enum class Phase {
  kLoad,
  kPrepare,
  kTransfer,
  kDenoise,
  kPatch,
  kNorm,
  kLinear,
  kAttention,
  kSampler,
  kExchange
};

/// What a stretch of a phase did. Products of different sizes are records of their own.
struct Work {
  double flops = 0.0;
  double bytes = 0.0;                ///< the least that memory must move: operands and results once
  std::int64_t m = 0, n = 0, k = 0;  ///< of a matrix product
  friend bool operator==(const Work&, const Work&) = default;
};

class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// `parts`: ops are done when they return, so the parts of "denoise" are known.
  explicit PhaseClock(bool parts = true) : parts_(parts) {}

  /// Charges the time since the last mark to `phase`.
  void mark(Phase phase, const Work& work = {}) {
    if (watcher_ && is_part(phase)) watcher_(name_of(phase, work), work);
    if (parts_ ? phase == Phase::kDenoise : is_part(phase)) return;
    const Clock::time_point now = Clock::now();
    Slot& slot = slot_of(phase, work);
    slot.time += now - last_;
    slot.flops += work.flops;
    slot.bytes += work.bytes;
    ++slot.calls;
    last_ = now;
  }
  /// Starts a stretch that nothing before is charged to.
  void start() { last_ = Clock::now(); }
  /// The same before an op of a step; without parts the stretch runs on.
  void start_part() {
    if (parts_) start();
  }
  /// Records with at least one call in the order of Phase, then in that of their first call.
  std::vector<PhaseRecord> take();

  /// Is told the name and work of every part of a step right after it was enqueued; empty: nobody.
  using Watcher = std::function<void(const std::string& name, const Work& work)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

  /// "denoise/linear 512x3456x1152" (rows, columns of the result, inner size), "denoise/norm", ...
  static std::string name_of(Phase phase, const Work& work);

 private:
  struct Slot {
    Phase phase{};
    std::int64_t m = 0, n = 0, k = 0;
    Clock::duration time{};
    std::int64_t calls = 0;
    double flops = 0.0, bytes = 0.0;
  };
  static bool is_part(Phase phase) { return phase > Phase::kDenoise; }
  Slot& slot_of(Phase phase, const Work& work) {
    for (Slot& slot : slots_) {
      if (slot.phase == phase && slot.m == work.m && slot.n == work.n && slot.k == work.k) {
        return slot;
      }
    }
    return slots_.emplace_back(Slot{.phase = phase, .m = work.m, .n = work.n, .k = work.k});
  }

  bool parts_;
  std::vector<Slot> slots_;  ///< a dozen or so
  Clock::time_point last_ = Clock::now();
  Watcher watcher_;
};

}  // namespace ditar
