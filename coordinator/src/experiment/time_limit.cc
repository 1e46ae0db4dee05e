#include "experiment/time_limit.h"

#include <chrono>
#include <utility>

namespace ditar {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TimeLimit::TimeLimit(std::function<double()> clock, int seconds)
    : clock_(clock ? std::move(clock) : steady_seconds), limit_(seconds), start_(clock_()) {}

void TimeLimit::start() { start_ = clock_(); }

double TimeLimit::used_seconds() const { return clock_() - start_; }

void TimedProgress::stage(std::string_view name) {
  stage_ = name;
  shown_.stage(name);
}

void TimedProgress::update(std::int64_t done, std::int64_t total) {
  shown_.update(done, total);
  if (done < total && limit_.is_over()) throw TimeIsUp{stage_, done, total};
}

}  // namespace ditar
