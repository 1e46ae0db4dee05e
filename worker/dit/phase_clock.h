// Adds up where the time of a request goes; diagnosis only. One thread at a time.
#pragma once

#include "ditar/worker/engine.h"

#include <array>
#include <chrono>
#include <vector>

namespace ditar {

enum class Phase { kLoad, kPrepare, kPatch, kNorm, kLinear, kAttention, kSampler, kExchange };

class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// Charges the time since the last mark to `phase`.
  void mark(Phase phase, double flops = 0.0) {
    const Clock::time_point now = Clock::now();
    Slot& slot = slots_[static_cast<std::size_t>(phase)];
    slot.time += now - last_;
    slot.flops += flops;
    ++slot.calls;
    last_ = now;
  }
  /// Starts a stretch that nothing before is charged to.
  void start() { last_ = Clock::now(); }
  /// Records with at least one call, then all zero.
  std::vector<PhaseRecord> take();

 private:
  struct Slot {
    Clock::duration time{};
    std::int64_t calls = 0;
    double flops = 0.0;
  };
  std::array<Slot, 8> slots_{};
  Clock::time_point last_ = Clock::now();
};

}  // namespace ditar
