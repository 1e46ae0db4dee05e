// What one rank of `dit-worker bench` measured, and how all of them are shown. Stateless.
#pragma once

#include "ditar/config/messages.h"

#include <string>
#include <vector>

namespace ditar {

struct BenchRow {
  RankHello who;
  RankReport report;  ///< of the last request
  double load_ms = 0.0;
  std::vector<double> times_ms;  ///< one per request, warm-up left out
  bool finite = true;            ///< all outputs this rank saw
};

/// One row per rank with min, mean and max, then the slowest rank's images per second.
std::string bench_table(const std::vector<BenchRow>& rows, const LoadReply& model,
                        std::int64_t images, int steps);
std::string bench_json(const std::vector<BenchRow>& rows, const LoadReply& model,
                       std::int64_t images, int steps);

/// For the exchange between ranks. @throws TransportError if the text is not one of encode_row.
std::string encode_row(const BenchRow& row);
BenchRow decode_row(const std::string& text);

}  // namespace ditar
