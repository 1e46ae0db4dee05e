#include "in_process_group.h"

#include "ditar/config/error.h"

#include <cstring>

namespace ditar {

InProcessGroup::InProcessGroup(int size, std::chrono::milliseconds deadline)
    : size_(size),
      deadline_(deadline),
      offers_(static_cast<std::size_t>(size)),
      pulses_(static_cast<std::size_t>(size)),
      arrived_(static_cast<std::size_t>(size), false) {}

void InProcessGroup::check_alive(int rank, const std::string& what) const {
  if (aborted_) {
    throw Error("rank " + std::to_string(rank) + ": the group was aborted, " + what +
                    " does not take place",
                ExitCode::kTemporary);
  }
}

void InProcessGroup::time_out(int rank, const std::string& what, const std::string& missing) {
  aborted_ = true;
  changed_.notify_all();
  throw TimeoutError("rank " + std::to_string(rank) + " waited " +
                     std::to_string(deadline_.count()) + " ms in " + what + " for " + missing);
}

void InProcessGroup::barrier(std::unique_lock<std::mutex>& lock, int rank,
                             const std::string& what) {
  check_alive(rank, what);
  const std::uint64_t mine = generation_;
  pulses_[static_cast<std::size_t>(rank)] = current_pulse();
  arrived_[static_cast<std::size_t>(rank)] = true;
  if (++arrivals_ == size_) {
    arrivals_ = 0;
    arrived_.assign(arrived_.size(), false);
    ++generation_;
    changed_.notify_all();
    return;
  }
  const auto late = [&](int r) { return !arrived_[static_cast<std::size_t>(r)]; };
  const bool met = await(
      lock, rank, what, [&] { return generation_ != mine; }, late);
  if (met) return;
  std::string missing;
  for (int r = 0; r < size_; ++r) {
    if (late(r)) missing += (missing.empty() ? "" : ", ") + describe(r);
  }
  time_out(rank, what, missing);
}

bool InProcessGroup::announced_more(const std::function<bool(int)>& late) const {
  const auto now = std::chrono::steady_clock::now();
  for (int r = 0; r < size_; ++r) {
    const auto& page = pulses_[static_cast<std::size_t>(r)];
    if (!late(r) || !page) continue;
    const PulseSnapshot seen = read_pulse(*page, now);
    if (seen.state == PulseState::kWork && seen.allowed > kUsualOp && seen.tick_age < seen.allowed)
      return true;
  }
  return false;
}

bool InProcessGroup::await(std::unique_lock<std::mutex>& lock, int rank, const std::string& what,
                           const std::function<bool()>& ready,
                           const std::function<bool(int)>& late) {
  const PulseWait waiting(what);
  const auto over = [&] { return aborted_ || ready(); };
  if (!changed_.wait_for(lock, deadline_, over)) {
    constexpr std::chrono::milliseconds kSlice{100};
    while (announced_more(late) && !changed_.wait_for(lock, kSlice, over)) {
    }
  }
  if (ready()) return true;
  check_alive(rank, what);
  return false;
}

std::string InProcessGroup::describe(int rank) const {
  std::string text = "rank " + std::to_string(rank);
  const auto& page = pulses_[static_cast<std::size_t>(rank)];
  if (!page) return text;
  return text + " (last seen in " + read_pulse(*page, std::chrono::steady_clock::now()).where() +
         ")";
}

std::vector<InProcessGroup::Offer> InProcessGroup::meet(int rank, const Offer& mine,
                                                        const std::string& what) {
  std::unique_lock lock(mutex_);
  check_alive(rank, what);
  offers_[static_cast<std::size_t>(rank)] = mine;
  barrier(lock, rank, what);
  for (const Offer& offer : offers_) {
    if (offer.tag != mine.tag || offer.count != mine.count) {
      aborted_ = true;
      changed_.notify_all();
      throw InvalidArgument("rank " + std::to_string(rank) + " is in " + what + " with " +
                            std::to_string(mine.count) +
                            " elements while another rank makes a different call");
    }
  }
  return offers_;
}

void InProcessGroup::leave(int rank, const std::string& what) {
  std::unique_lock lock(mutex_);
  barrier(lock, rank, what);
}

void InProcessGroup::send(int rank, int peer, const Offer& offer) {
  post(rank, peer, offer);
  await_taken(rank, peer);
}

void InProcessGroup::post(int rank, int peer, const Offer& offer) {
  const std::lock_guard lock(mutex_);
  check_alive(rank, "send to rank " + std::to_string(peer));
  pulses_[static_cast<std::size_t>(rank)] = current_pulse();
  mail_[{rank, peer}].offer = &offer;
  changed_.notify_all();
}

void InProcessGroup::await_taken(int rank, int peer) {
  const std::string what = "send to rank " + std::to_string(peer);
  std::unique_lock lock(mutex_);
  Mail& box = mail_[{rank, peer}];
  const auto taken = [&] { return box.offer == nullptr; };
  const auto late = [&](int r) { return r == peer; };
  try {
    if (await(lock, rank, what, taken, late)) return;
  } catch (const Error&) {
    box.offer = nullptr;
    throw;
  }
  box.offer = nullptr;
  time_out(rank, what, describe(peer) + " to receive");
}

void InProcessGroup::receive(int rank, int peer, void* target, std::size_t size_bytes,
                             const Offer& wanted) {
  const std::string what = "recv from rank " + std::to_string(peer);
  std::unique_lock lock(mutex_);
  pulses_[static_cast<std::size_t>(rank)] = current_pulse();
  Mail& box = mail_[{peer, rank}];
  const auto came = [&] { return box.offer != nullptr; };
  const auto late = [&](int r) { return r == peer; };
  if (!await(lock, rank, what, came, late)) {
    time_out(rank, what, describe(peer) + " to send");
  }
  check_alive(rank, what);
  const bool same = box.offer->count == wanted.count && box.offer->tag == wanted.tag;
  if (same && size_bytes != 0) std::memcpy(target, box.offer->data, size_bytes);
  if (!same) aborted_ = true;
  box.offer = nullptr;
  changed_.notify_all();
  require(same, "rank " + std::to_string(rank) + ": " + what +
                    " differs from the send in count or dtype");
}

std::shared_ptr<InProcessGroup> InProcessGroup::subgroup(int generation, int color, int size) {
  const std::lock_guard lock(mutex_);
  auto& child = children_[{generation, color}];
  if (!child) {
    child = std::make_shared<InProcessGroup>(size, deadline_);
    if (aborted_) child->aborted_ = true;
  }
  return child;
}

void InProcessGroup::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
  for (const auto& [key, child] : children_) child->abort();
}

bool InProcessGroup::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

}  // namespace ditar
