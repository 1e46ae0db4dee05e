// What was timed, as it lies in the ledger: quads of four requests in ABBA or BAAB order, gathered
// in blocks of one fresh pair of worker groups. A is the best so far, B the candidate. Plain values
// and pure functions; thread-safe. A time is any positive cost where less is better: nanoseconds of
// a request, or bytes on a memory lane.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

enum class TimedArm : std::uint8_t { kNone, kA, kB, kBoth };
enum class QuadOrder : std::uint8_t { kAbba, kBaab };
/// Calibration and control blocks time A against a copy of itself.
enum class BlockKind : std::uint8_t { kCalibration, kControl, kScreen, kConfirm, kHeadToHead };

std::string_view to_string(TimedArm arm) noexcept;     ///< "none", "A", "B", "both"
std::string_view to_string(QuadOrder order) noexcept;  ///< "ABBA", "BAAB"
std::string_view to_string(BlockKind kind) noexcept;   ///< "calibration", "control", ...
/// Inverse of to_string. @throws DataError naming the text.
BlockKind block_kind_from(std::string_view text);

/// Four timed requests; `cost` is in the order in which they ran.
struct QuadRecord {
  QuadOrder order = QuadOrder::kAbba;
  std::array<std::int64_t, 4> cost{};
  bool is_void = false;
  bool throttled = false;  ///< void because of a hardware throttle reason
  std::string void_cause;
  TimedArm arm_during_cause = TimedArm::kNone;  ///< which arm ran when the cause was seen
  /// Share of the workers' CPU time that others used, and that the host took away, over the quad.
  double foreign_load = 0.0, steal = 0.0;
  /// NVML's reasons for lower clocks seen over the quad, and the lowest SM clock; 0: no GPU.
  std::uint64_t clock_reasons = 0;
  unsigned sm_clock_mhz = 0;
};

struct BlockRecord {
  BlockKind kind = BlockKind::kScreen;
  std::vector<QuadRecord> quads;  ///< void ones included
  bool is_void = false;           ///< the block failed as a whole (process fault, time-out)
  std::string void_cause;
};

/// 1/2 [(ln b1 + ln b2) - (ln a1 + ln a2)]: below 0 where B is faster; a linear drift cancels.
/// @throws DataError if a cost is not positive.
double quad_value(const QuadRecord& quad);

/// Median of the valid quads' values; nothing if the block is void or has fewer than `least_quads`.
std::optional<double> block_value(const BlockRecord& block, int least_quads);

/// Median; the mean of the middle two for an even count. @throws InvalidArgument if empty or NaN.
double median(std::span<const double> values);

}  // namespace ditar
