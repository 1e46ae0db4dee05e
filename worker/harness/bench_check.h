// What a `bench` of several ranks does besides timing: it runs the same request on one rank, counts
// what the split exchanges, and times each kind of exchange alone. Collective; main thread.
#pragma once

#include "bench.h"
#include "bench_group.h"
#include "bench_report.h"
#include "engine_runner.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// Fresh noise and labels for request `number`, the same on every rank.
RunRequest make_bench_request(const BenchOptions& options, std::int64_t images,
                              const LoadReply& model, int number);

class BenchCheck {
 public:
  BenchCheck(BenchGroup& group, const BenchOptions& options, std::string device)
      : group_(group), options_(options), device_(std::move(device)) {}

  /// Before the timed engine is loaded: the first request of each size on rank 0 alone, then on the
  /// group with everything counted.
  void prepare();
  /// Why there is nothing to compare with; empty if there is.
  const std::string& unchecked() const noexcept { return unchecked_; }
  /// Error of rank 0's `latents` of the first request; nothing elsewhere and where unchecked.
  std::optional<double> error(std::int64_t images, const std::vector<float>& latents) const;
  /// Bound of it: 0 where the split must not change a bit.
  double allowed(const std::string& plan) const;
  /// What this rank exchanged in one request of that size; null where nothing was counted.
  const ExchangeLog* log(std::int64_t images) const {
    const auto found = logs_.find(images);
    return found == logs_.end() ? nullptr : &found->second;
  }
  /// Every kind of exchange of the last size, timed on all ranks. Complete on rank 0.
  std::vector<ExchangeRow> time_exchanges();

 private:
  void run_alone();
  void run_counted();

  BenchGroup& group_;
  const BenchOptions& options_;
  const std::string device_;
  std::string unchecked_;
  std::map<std::int64_t, std::vector<float>> alone_;
  std::map<std::int64_t, ExchangeLog> logs_;
};

}  // namespace ditar
