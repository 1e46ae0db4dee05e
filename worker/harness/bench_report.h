// What `dit-worker bench` measured on all ranks, and how it is shown. Stateless.
#pragma once

#include "ditar/config/messages.h"
#include "metered_communicator.h"

#include <optional>
#include <string>
#include <vector>

namespace ditar {

struct BenchRow {
  RankHello who;
  RankReport report;  ///< of the last request
  double load_ms = 0.0;
  std::vector<double> times_ms;  ///< one per request, warm-up left out
  bool finite = true;            ///< all outputs this rank saw
  double sent_bytes = 0.0;       ///< by this rank in one request
  std::int64_t exchanges = 0;    ///< calls of this rank in one request
};

/// One size of a request on all ranks.
struct BenchSize {
  std::int64_t images = 1;
  std::vector<BenchRow> rows;   ///< by rank
  std::optional<double> error;  ///< relative L2 against one rank; nothing if not compared
  double allowed = 0.0;         ///< of it; 0: the same bits
  bool right() const;
};

/// One kind of exchange, timed apart from the model.
struct ExchangeRow {
  ExchangeKind kind;
  int ranks = 1;
  std::int64_t calls = 0;           ///< in one request of the last size
  std::vector<double> times_us;     ///< of one call, by rank
  std::vector<std::int64_t> wrong;  ///< by rank
};

struct BenchResult {
  LoadReply model;
  int steps = 1;
  std::vector<BenchSize> sizes;
  std::vector<ExchangeRow> exchanges;
  std::string unchecked;  ///< why nothing was compared; empty: it was, or there is one rank
  bool good() const;      ///< all finite, equal enough and arrived whole
};

/// A row per size (min, mean and max over the ranks' means), a row per rank of the last size, and a
/// row per kind of exchange as nccl-tests prints it.
std::string bench_table(const BenchResult& result);
std::string bench_json(const BenchResult& result);

/// For the exchange between ranks. @throws TransportError if the text is not one of encode_row.
std::string encode_row(const BenchRow& row);
BenchRow decode_row(const std::string& text);

}  // namespace ditar
