// Computes what the ledger says of a measurement again from its raw nanoseconds and compares bit by
// bit: noise floors, blocks and their coins, decisions and verdicts, receipts, revealed seeds.
// Reads files below `git_root`; changes nothing.
#pragma once

#include "ditar/coordinator/ledger.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ditar {

struct VerifiedRecord {
  std::int64_t seq = 0;
  std::string type;                 ///< "baseline", "verdict", ...
  std::string id;                   ///< of the experiment; "baseline" for one
  std::vector<std::string> faults;  ///< one sentence each; empty: all as recorded
};

/// Every record that holds or follows from a measurement, in order. @param only  an experiment's id
/// (or "baseline"); empty: all. A record that cannot be read is a fault, not an exception.
std::vector<VerifiedRecord> verify_records(std::span<const Record> records,
                                           const std::filesystem::path& git_root,
                                           const std::string& only = "");

}  // namespace ditar
