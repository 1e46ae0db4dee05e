// The wall time that one experiment may take (budgets.experiment_seconds), and a progress that
// keeps to it: work that reports its parts ends when the time is up. One thread.
#pragma once

#include "ditar/coordinator/progress.h"

#include <functional>
#include <string>

namespace ditar {

class TimeLimit {
 public:
  /// @param clock seconds on a steady clock; empty: the machine's own
  TimeLimit(std::function<double()> clock, int seconds);
  /// From here the time counts.
  void start();
  double used_seconds() const;
  int limit_seconds() const noexcept { return limit_; }
  bool is_over() const { return used_seconds() > limit_; }

 private:
  std::function<double()> clock_;
  int limit_;
  double start_ = 0.0;
};

/// Thrown by TimedProgress::update().
struct TimeIsUp {
  std::string stage;
  std::int64_t done = 0, total = 0;
};

class TimedProgress final : public Progress {
 public:
  /// Both must outlive this.
  TimedProgress(Progress& shown, const TimeLimit& limit) : shown_(shown), limit_(limit) {}
  void stage(std::string_view name) override;
  void update(std::int64_t done, std::int64_t total) override;
  void note(std::string_view text) override { shown_.note(text); }

 private:
  Progress& shown_;
  const TimeLimit& limit_;
  std::string stage_;
};

}  // namespace ditar
