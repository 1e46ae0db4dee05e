#include "phase_clock.h"

namespace ditar {

std::vector<PhaseRecord> PhaseClock::take() {
  static constexpr std::array<const char*, 9> kNames{
      "load",           "prepare",           "denoise",         "denoise/patch",   "denoise/norm",
      "denoise/linear", "denoise/attention", "denoise/sampler", "denoise/exchange"};
  std::vector<PhaseRecord> records;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.calls == 0) continue;
    const double ms = std::chrono::duration<double, std::milli>(slot.time).count();
    records.push_back({kNames[i], ms, slot.calls, slot.flops, 0.0});
  }
  slots_ = {};
  return records;
}

}  // namespace ditar
