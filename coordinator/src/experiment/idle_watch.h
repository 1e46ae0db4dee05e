// What one arm's processes do while the other arm is timed: nothing, or they slow the other one
// down or work ahead. CPU time is read from /proc before and after each such request, outside the
// timed part. Private to coordinator/src/experiment; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ditar {

class IdleWatch {
 public:
  /// The processes that are to be idle; replaces those of before.
  void watch(std::vector<pid_t> pids) { pids_ = std::move(pids); }
  void begin();
  /// @param elapsed_ns  how long the other arm's request took
  void end(std::int64_t elapsed_ns);

  std::int64_t busy_ns() const noexcept { return busy_ns_; }
  std::int64_t elapsed_ns() const noexcept { return elapsed_ns_; }
  /// One sentence if they used more than 5 ms and 3 % of the time; signs of life and the timers of
  /// MPI and ZeroMQ stay below a tenth of that.
  std::string fault() const;

 private:
  using ThreadTimes = std::map<std::pair<pid_t, pid_t>, std::int64_t>;  ///< (process, thread): ns
  ThreadTimes read() const;

  std::vector<pid_t> pids_;
  ThreadTimes before_;
  std::int64_t busy_ns_ = 0, elapsed_ns_ = 0;
};

}  // namespace ditar
