// What a rank is doing, written by the rank before every op and readable from outside at any time:
// by other threads, or by other processes that map the page. It tells a rank that computes or waits
// from one that is frozen, loops or is gone. A page has one writer, the rank's main thread (only
// beat() is another's); reading is safe from anywhere. Times are of the steady clock, which all
// processes of a host share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ditar {

enum class PulseState : std::uint32_t {
  kIdle,  ///< nothing to do
  kWork,  ///< in an op of its own
  kWait   ///< for another rank
};

/// How long an op may take that announces nothing.
inline constexpr std::chrono::milliseconds kUsualOp{3500};

/// Lies in shared memory: no pointers, only lock-free fields. All zero is a fresh page. A tick is
/// written beside the last one, so that a writer stopped in the middle spoils nothing.
struct PulsePage {
  struct Tick {
    std::atomic<std::int64_t> at_ns, allowed_ms, block;
    std::atomic<std::int32_t> peer;
    std::atomic<std::uint32_t> state;
    std::array<std::atomic<std::uint64_t>, 5> op;  ///< text, cut off at 40 bytes
  };
  std::atomic<std::uint64_t> ticks;  ///< so many; ring[ticks % 2] is the last
  std::atomic<std::int64_t> beat_ns, step;
  std::array<Tick, 2> ring;
};

struct PulseSnapshot {
  std::uint64_t ticks = 0;
  PulseState state = PulseState::kIdle;
  std::int64_t step = -1;   ///< of the request; -1 outside of steps
  std::int64_t block = -1;  ///< layer; -1 outside of layers
  std::int32_t peer = -1;   ///< rank that is waited for; -1: any
  std::chrono::milliseconds tick_age{0}, beat_age{0}, allowed{0};
  std::string op;

  /// "mlp.fc1 of block 3, step 2", or "nothing" where no tick came.
  std::string where() const;
};

/// @param now of the steady clock.
PulseSnapshot read_pulse(const PulsePage& page, std::chrono::steady_clock::time_point now);
/// Overwrites `page` by a snapshot taken on another host; `now` is this host's.
void write_pulse(PulsePage& page, const PulseSnapshot& seen,
                 std::chrono::steady_clock::time_point now);
/// A sign of life of the process, not of its main thread; any thread.
void beat(PulsePage& page) noexcept;

/// Makes `page` the one that this thread's pulses go to while it lives; without one they go
/// nowhere.
class PulseBinding {
 public:
  explicit PulseBinding(std::shared_ptr<PulsePage> page);
  ~PulseBinding();
  PulseBinding(const PulseBinding&) = delete;
  PulseBinding& operator=(const PulseBinding&) = delete;

 private:
  std::shared_ptr<PulsePage> former_;
};
/// This thread's page, or null.
const std::shared_ptr<PulsePage>& current_pulse() noexcept;

/// Before an op. `allowed`: how long it may take at most, announced by slow ones.
void pulse_tick(std::string_view op, std::int64_t block = -1,
                std::chrono::milliseconds allowed = kUsualOp) noexcept;
/// The sampler step that the ticks after this belong to; -1: none.
void pulse_step(std::int64_t step) noexcept;
void pulse_idle() noexcept;

/// While this lives, the thread waits for `peer` (-1: any rank) in `op`.
class PulseWait {
 public:
  explicit PulseWait(std::string_view op, int peer = -1) noexcept;
  ~PulseWait();
  PulseWait(const PulseWait&) = delete;
  PulseWait& operator=(const PulseWait&) = delete;

 private:
  std::int64_t block_ = -1;
  bool idle_ = false;  ///< the rank had nothing to do before
};

struct Stall {
  int rank = -1;
  std::string text;  ///< one sentence with rank, op and step
};
struct StallLimits {
  std::chrono::milliseconds silence{3000};  ///< without a beat
  std::chrono::milliseconds deadlock{4000};
};
/// The rank that keeps the others from going on, if one does: one without a beat, one whose op
/// takes longer than it may, or, where all wait for each other, the one that made the fewest calls.
std::optional<Stall> find_stall(std::span<const PulseSnapshot> ranks,
                                const StallLimits& limits = {});

}  // namespace ditar
