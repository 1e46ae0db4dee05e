#include "ditar/parallel/pulse.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace ditar {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire, kRelease = std::memory_order_release;
constexpr int kTries = 1000;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
using Words = std::array<std::uint64_t, std::tuple_size_v<decltype(PulsePage::Tick::op)>>;

std::int64_t nanoseconds(Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

std::shared_ptr<PulsePage>& bound() noexcept {
  thread_local std::shared_ptr<PulsePage> page;
  return page;
}

Words pack(std::string_view text) {
  Words words{};
  std::memcpy(words.data(), text.data(), std::min(text.size(), sizeof(Words)));
  return words;
}

std::string unpack(const Words& words) {
  const char* text = reinterpret_cast<const char*>(words.data());
  return {text, ::strnlen(text, sizeof(Words))};
}

struct Entry {
  std::string_view op;
  PulseState state;
  std::int64_t block;
  std::int32_t peer;
  std::int64_t allowed_ms, at_ns;
};

/// `ticks`: how many there are with this one. Each field is released after the ticks before it: who
/// sees a field of a later tick sees later `ticks` too.
void write(PulsePage& page, std::uint64_t ticks, const Entry& entry) {
  PulsePage::Tick& slot = page.ring[ticks % 2];
  const Words words = pack(entry.op);
  for (std::size_t i = 0; i < words.size(); ++i) slot.op[i].store(words[i], kRelease);
  slot.state.store(static_cast<std::uint32_t>(entry.state), kRelease);
  slot.block.store(entry.block, kRelease);
  slot.peer.store(entry.peer, kRelease);
  slot.allowed_ms.store(entry.allowed_ms, kRelease);
  slot.at_ns.store(entry.at_ns, kRelease);
  page.ticks.store(ticks, kRelease);
}

void tick(std::string_view op, PulseState state, std::int64_t block, std::int32_t peer,
          milliseconds allowed) noexcept {
  PulsePage* const page = bound().get();
  if (page == nullptr) return;
  const std::int64_t now = nanoseconds(Clock::now());
  write(*page, page->ticks.load(kRelaxed) + 1, {op, state, block, peer, allowed.count(), now});
}

const PulsePage::Tick& last_tick(const PulsePage& page) {
  return page.ring[page.ticks.load(kRelaxed) % 2];
}

std::string seconds(milliseconds age) {
  std::string text = std::to_string(age.count() / 100);
  if (text.size() < 2) text.insert(0, "0");
  text.insert(text.size() - 1, ".");
  return text + " s";
}

std::string name(std::size_t rank) { return "rank " + std::to_string(rank); }

/// Of the ranks that `test` holds for, the one whose last tick is the oldest.
template <typename Test>
std::optional<std::size_t> oldest(std::span<const PulseSnapshot> ranks, const Test& test) {
  std::optional<std::size_t> found;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!test(ranks[r])) continue;
    if (!found || ranks[r].tick_age > ranks[*found].tick_age) found = r;
  }
  return found;
}

/// Where nobody works: a rank that has nothing to do, or the one that has come the least far.
std::size_t last_in_line(std::span<const PulseSnapshot> ranks) {
  std::size_t last = 0;
  const auto before = [](const PulseSnapshot& a, const PulseSnapshot& b) {
    return std::pair(a.state != PulseState::kIdle, a.ticks) <
           std::pair(b.state != PulseState::kIdle, b.ticks);
  };
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    if (before(ranks[r], ranks[last])) last = r;
  }
  return last;
}

}  // namespace

std::string PulseSnapshot::where() const {
  if (op.empty()) return "nothing";
  std::string text = op;
  if (peer >= 0) text += " with rank " + std::to_string(peer);
  if (block >= 0) text += " of block " + std::to_string(block);
  if (step >= 0) text += ", step " + std::to_string(step);
  return text;
}

PulseSnapshot read_pulse(const PulsePage& page, Clock::time_point now) {
  PulseSnapshot seen;
  Words words{};
  std::int64_t tick_ns = 0;
  for (int turn = 0; turn < kTries; ++turn) {
    seen.ticks = page.ticks.load(kAcquire);
    const PulsePage::Tick& slot = page.ring[seen.ticks % 2];
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot.op[i].load(kAcquire);
    seen.state = static_cast<PulseState>(slot.state.load(kAcquire));
    seen.block = slot.block.load(kAcquire);
    seen.peer = slot.peer.load(kAcquire);
    seen.allowed = milliseconds(slot.allowed_ms.load(kAcquire));
    tick_ns = slot.at_ns.load(kAcquire);
    if (page.ticks.load(kRelaxed) == seen.ticks) break;
  }
  seen.op = unpack(words);
  seen.step = page.step.load(kRelaxed);
  const auto age = [&](std::int64_t since) {
    return milliseconds(std::max<std::int64_t>(0, (nanoseconds(now) - since) / 1'000'000));
  };
  seen.tick_age = age(tick_ns);
  seen.beat_age = age(std::max(page.beat_ns.load(kRelaxed), tick_ns));
  return seen;
}

void write_pulse(PulsePage& page, const PulseSnapshot& seen, Clock::time_point now) {
  page.step.store(seen.step, kRelaxed);
  write(page, seen.ticks,
        {seen.op, seen.state, seen.block, seen.peer, seen.allowed.count(),
         nanoseconds(now - seen.tick_age)});
  page.beat_ns.store(nanoseconds(now - seen.beat_age), kRelaxed);
}

void beat(PulsePage& page) noexcept { page.beat_ns.store(nanoseconds(Clock::now()), kRelaxed); }

PulseBinding::PulseBinding(std::shared_ptr<PulsePage> page)
    : former_(std::exchange(bound(), std::move(page))) {
  pulse_step(-1);
}
PulseBinding::~PulseBinding() { bound() = std::move(former_); }

const std::shared_ptr<PulsePage>& current_pulse() noexcept { return bound(); }

void pulse_tick(std::string_view op, std::int64_t block, milliseconds allowed) noexcept {
  tick(op, PulseState::kWork, block, -1, allowed);
}

void pulse_step(std::int64_t step) noexcept {
  if (PulsePage* const page = bound().get()) page->step.store(step, kRelaxed);
}

void pulse_idle() noexcept {
  pulse_step(-1);
  tick("no work", PulseState::kIdle, -1, -1, kUsualOp);
}

PulseWait::PulseWait(std::string_view op, int peer) noexcept {
  const PulsePage* const page = bound().get();
  if (page == nullptr) return;
  const PulsePage::Tick& last = last_tick(*page);
  block_ = last.block.load(kRelaxed);
  idle_ = last.state.load(kRelaxed) == static_cast<std::uint32_t>(PulseState::kIdle);
  tick(op, PulseState::kWait, block_, peer, kUsualOp);
}

PulseWait::~PulseWait() {
  if (idle_) {
    pulse_idle();
  } else {
    pulse_tick("what follows an exchange", block_);
  }
}

std::optional<Stall> find_stall(std::span<const PulseSnapshot> ranks, const StallLimits& limits) {
  const auto silent = oldest(ranks, [&](const PulseSnapshot& p) {
    return p.state != PulseState::kIdle && p.beat_age > limits.silence;
  });
  if (silent) {
    const PulseSnapshot& p = ranks[*silent];
    return Stall{static_cast<int>(*silent), name(*silent) + " is frozen: no sign of life for " +
                                                seconds(p.beat_age) + ", last tick " +
                                                seconds(p.tick_age) + " ago in " + p.where()};
  }
  const auto stuck = oldest(ranks, [](const PulseSnapshot& p) {
    return p.state == PulseState::kWork && p.tick_age > p.allowed;
  });
  if (stuck) {
    const PulseSnapshot& p = ranks[*stuck];
    return Stall{static_cast<int>(*stuck), name(*stuck) + " does not come out of " + p.where() +
                                               " (" + seconds(p.tick_age) + ", allowed " +
                                               seconds(p.allowed) + ")"};
  }
  bool waits = false;
  for (const PulseSnapshot& p : ranks) {
    if (p.state == PulseState::kWork) return std::nullopt;
    if (p.tick_age <= limits.deadlock) return std::nullopt;
    waits = waits || p.state == PulseState::kWait;
  }
  if (!waits) return std::nullopt;
  std::string text = "the ranks wait for each other:";
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    text += (r == 0 ? " " : "; ") + name(r) + " is in " + ranks[r].where();
  }
  return Stall{static_cast<int>(last_in_line(ranks)), text};
}

}  // namespace ditar
