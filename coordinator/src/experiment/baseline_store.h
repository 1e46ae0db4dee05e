// What baseline leaves for experiments: files below .autoresearch/baseline/<lane>/<commit>/ and the
// body of its ledger record, which holds their hashes. Stateless.
#pragma once

#include "ditar/coordinator/project.h"
#include "ditar/coordinator/suite_runner.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace ditar {

struct BaselineFiles {
  std::filesystem::path folder, oracle, suite, worker_copy;
};
BaselineFiles baseline_files(const Project& project, const SessionState& session);

/// The record's body; @throws Error (exit 67) naming `dit-ar baseline` if there is none.
nlohmann::json baseline_body(const SessionState& session);
/// Loads oracle and original outputs and checks their hashes against the record.
/// @throws DataError naming the file.
void load_baseline(const BaselineFiles& files, const nlohmann::json& body, OracleReference& oracle,
                   SuiteOutputs& original);

/// Seed of the fixed suite of every lane.
inline constexpr std::uint64_t kSuiteSeed = 0x5eed0001;

/// The arm of a built tree.
struct BuildResult;
struct Arm;
Arm arm_of(const std::string& name, const BuildResult& build, const std::string& knobs_path);

}  // namespace ditar
