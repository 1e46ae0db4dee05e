// Counts what goes through a communicator and the groups split from it. The log belongs to one rank
// and one thread.
#pragma once

#include "ditar/parallel/communicator.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace ditar {

enum class ExchangeOp : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSend,
  kRecv,
  kSendRecv,
  kPingPong  ///< of two ranks: there and back; only timed, never logged
};
std::string_view to_string(ExchangeOp op) noexcept;

/// How a group came to be: split `parent` (an index) by these. Index 0 is the whole group.
struct ExchangeGroup {
  int parent = -1, color = 0, key = 0;
};
struct ExchangeKind {
  int group = 0;  ///< index in ExchangeLog::groups
  ExchangeOp op = ExchangeOp::kAllReduce;
  std::int64_t count = 0;  ///< elements, as the call names them
  DType dtype = DType::kF32;
  auto operator<=>(const ExchangeKind&) const = default;
};
struct ExchangeLog {
  std::vector<ExchangeGroup> groups;
  std::map<ExchangeKind, std::int64_t> calls;
  double sent_bytes = 0.0;  ///< by this rank over all calls, as a ring would send them
};

/// Bytes that one call of `op` makes one of `ranks` ranks send in a ring; of a broadcast, the root.
double sent_bytes(ExchangeOp op, int ranks, std::int64_t count, DType dtype);

/// `inner` and `log` must outlive it. Captured calls of a graph are counted once, at capture.
std::unique_ptr<Communicator> make_metered_communicator(Communicator& inner, ExchangeLog& log);

}  // namespace ditar
