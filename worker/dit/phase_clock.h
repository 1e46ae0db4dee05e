// Adds up where the time of a request goes; diagnosis only. One thread at a time. Where a device
// works behind the host's back, the host's time at an op is no time of that op: such a clock keeps
// "denoise" as a whole and drops its parts.
#pragma once

#include "ditar/worker/engine.h"

#include <array>
#include <chrono>
#include <vector>

namespace ditar {

enum class Phase {
  kLoad,
  kPrepare,
  kDenoise,
  kPatch,
  kNorm,
  kLinear,
  kAttention,
  kSampler,
  kExchange
};

class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// `parts`: ops are done when they return, so the parts of "denoise" are known.
  explicit PhaseClock(bool parts = true) : parts_(parts) {}

  /// Charges the time since the last mark to `phase`.
  void mark(Phase phase, double flops = 0.0) {
    if (parts_ ? phase == Phase::kDenoise : is_part(phase)) return;
    const Clock::time_point now = Clock::now();
    Slot& slot = slots_[static_cast<std::size_t>(phase)];
    slot.time += now - last_;
    slot.flops += flops;
    ++slot.calls;
    last_ = now;
  }
  /// Starts a stretch that nothing before is charged to.
  void start() { last_ = Clock::now(); }
  /// The same before an op of a step; without parts the stretch runs on.
  void start_part() {
    if (parts_) start();
  }
  /// Records with at least one call, then all zero.
  std::vector<PhaseRecord> take();

 private:
  struct Slot {
    Clock::duration time{};
    std::int64_t calls = 0;
    double flops = 0.0;
  };
  static bool is_part(Phase phase) { return phase > Phase::kDenoise && phase < Phase::kExchange; }

  bool parts_;
  std::array<Slot, 9> slots_{};
  Clock::time_point last_ = Clock::now();
};

}  // namespace ditar
