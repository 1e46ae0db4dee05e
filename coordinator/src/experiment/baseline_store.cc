#include "experiment/baseline_store.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/candidate_build.h"
#include "ditar/coordinator/worker_launcher.h"

#include <nlohmann/json.hpp>

namespace ditar {

BaselineFiles baseline_files(const Project& project, const SessionState& session) {
  BaselineFiles files;
  files.folder = project.layout.baseline_of(session.lane) / session.original.substr(0, 12);
  files.oracle = files.folder / "oracle.safetensors";
  files.suite = files.folder / "original.safetensors";
  files.worker_copy = files.folder / "aa" / "dit-worker";
  return files;
}

nlohmann::json baseline_body(const SessionState& session) {
  if (!session.baseline) {
    throw Error("this session has no baseline yet; measure it first: dit-ar baseline",
                ExitCode::kRules);
  }
  return nlohmann::json::parse(session.baseline->body);
}

void load_baseline(const BaselineFiles& files, const nlohmann::json& body, OracleReference& oracle,
                   SuiteOutputs& original) {
  const auto check = [&](const std::filesystem::path& file, const char* key) {
    if (!std::filesystem::exists(file) || sha256_file(file) != body.value(key, "")) {
      throw DataError(file.string() +
                      " is missing or not what baseline wrote; measure it again: dit-ar baseline");
    }
  };
  check(files.oracle, "oracle_sha256");
  check(files.suite, "suite_sha256");
  oracle = load_oracle(files.oracle);
  original = load_suite(files.suite);
}

Arm arm_of(const std::string& name, const BuildResult& build, const std::string& knobs_path) {
  return Arm{name, build.binary, build.binary_sha256, build.source / knobs_path};
}

}  // namespace ditar
