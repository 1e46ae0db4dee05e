#include "group_watch.h"

#include "ditar/config/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace ditar {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr milliseconds kPause{1500};          // between two looks: this process did not run
constexpr milliseconds kAbortPatience{2000};  // of an NCCL abort, which may hang itself

void excuse(PulseSnapshot& seen, milliseconds since) {
  seen.tick_age = std::min(seen.tick_age, since);
  seen.beat_age = std::min(seen.beat_age, since);
}

}  // namespace

void GroupWatch::look() {
  const auto now = Clock::now();
  beat(*links_.page);
  if (now - last_ > kPause) since_ = now;
  last_ = now;
  const auto since = std::chrono::duration_cast<milliseconds>(now - since_);
  if (links_.hub) {
    links_.hub->pump();
    std::vector<PulseSnapshot> ranks = links_.hub->pulses(now);
    ranks.insert(ranks.begin(), read_pulse(*links_.page, now));
    for (PulseSnapshot& seen : ranks) excuse(seen, since);
    if (const auto stall = find_stall(ranks)) throw RankStalled(stall->rank, stall->text);
  } else if (links_.spoke) {
    links_.spoke->pump();
    // Rank 0 sees to itself for as long as it runs at all.
    PulseSnapshot lead = links_.spoke->lead_pulse(now);
    excuse(lead, since);
    lead.allowed = lead.tick_age;
    if (lead.state == PulseState::kWait) lead.state = PulseState::kWork;
    if (const auto stall = find_stall(std::span(&lead, 1))) {
      throw RankStalled(stall->rank, stall->text);
    }
  }
}

void GroupWatch::kill(int rank) const noexcept {
  if (links_.hub) links_.hub->kill(rank);
  if (links_.spoke && rank == 0) links_.spoke->kill_lead();
}

void leave_group(Communicator* communicator, const std::string& why, int exit_code) {
  log_error(why);
  if (communicator != nullptr) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    std::thread([communicator, done] {
      communicator->abort();
      *done = true;
    }).detach();
    const auto end = Clock::now() + kAbortPatience;
    while (!*done && Clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
  }
  ::_exit(exit_code);
}

}  // namespace ditar
