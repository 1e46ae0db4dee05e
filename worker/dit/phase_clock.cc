#include "phase_clock.h"

#include <algorithm>
#include <array>

namespace ditar {

std::string PhaseClock::name_of(Phase phase, const Work& work) {
  static constexpr std::array<const char*, 10> kNames{
      "load",         "prepare",        "transfer",          "denoise",         "denoise/patch",
      "denoise/norm", "denoise/linear", "denoise/attention", "denoise/sampler", "denoise/exchange"};
  std::string name = kNames[static_cast<std::size_t>(phase)];
  if (work.m > 0) {
    name +=
        " " + std::to_string(work.m) + "x" + std::to_string(work.n) + "x" + std::to_string(work.k);
  }
  return name;
}

std::vector<PhaseRecord> PhaseClock::take() {
  std::stable_sort(slots_.begin(), slots_.end(),
                   [](const Slot& a, const Slot& b) { return a.phase < b.phase; });
  std::vector<PhaseRecord> records;
  for (const Slot& slot : slots_) {
    const double ms = std::chrono::duration<double, std::milli>(slot.time).count();
    const Work shape{.flops = 0.0, .bytes = 0.0, .m = slot.m, .n = slot.n, .k = slot.k};
    records.push_back({name_of(slot.phase, shape), ms, slot.calls, slot.flops, slot.bytes});
  }
  slots_.clear();
  return records;
}

}  // namespace ditar
