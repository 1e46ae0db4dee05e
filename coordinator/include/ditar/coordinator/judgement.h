// The judge of quality that a flow asks: a pure function of what was measured; the flows only
// gather evidence. An interface, so that tests can script it. One thread at a time. Speed is judged
// by verdict/decision.h directly.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/coordinator/quality/hard_failures.h"
#include "ditar/coordinator/suite_runner.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

/// Everything about one candidate's outputs.
struct QualityEvidence {
  std::string claimed_class;
  std::vector<std::string> kept_classes;  ///< of the steps kept so far, for the chain's gate
  const OracleReference* oracle = nullptr;
  const SuiteOutputs* original = nullptr;
  const SuiteOutputs* parent = nullptr;
  const SuiteOutputs* candidate = nullptr;
  /// Free-running items run a second time by the candidate, from item 0.
  std::vector<std::vector<float>> repeated;
  /// Outputs that differ from item 0's in one thing asked: its label, its steps.
  std::vector<ProbePair> probes;
  std::vector<std::int32_t> labels, fresh_labels;  ///< of the finals and of the fresh sets
  /// Sets on fresh seeds, original and candidate; empty where the class does not ask for them.
  std::vector<std::vector<float>> fresh_original, fresh_candidate;
  std::uint64_t seed = 0;  ///< of resampling; recorded
};

struct QualityFinding {
  bool pass = false;
  std::string reason;         ///< "quality" or "class"; empty if passed
  std::string why;            ///< one sentence
  std::string audited_class;  ///< what the outputs show
  std::string numbers_json;   ///< every number used, one JSON object
};

class QualityJudge {
 public:
  virtual ~QualityJudge() = default;
  virtual QualityFinding judge(const QualityEvidence& evidence) = 0;
  /// Required scores of a set of finals, for records: one JSON object.
  virtual std::string scores_json(const std::vector<std::vector<float>>& finals,
                                  const std::vector<std::int32_t>& labels) = 0;
  /// Whether the gate passes the baseline's own variants and fails planted faults.
  /// @return one sentence about the first that went wrong; empty if all are as they should be.
  virtual std::string self_test(const SuiteOutputs& original,
                                const std::vector<std::vector<float>>& variant,
                                const std::vector<std::int32_t>& labels,
                                std::string& numbers_json) = 0;
};

/// The real one for a lane. @param judge_file weights of the judge; empty where the lane has no
/// required scores. @throws DataError if it cannot be read.
std::unique_ptr<QualityJudge> make_quality_judge(const LaneConfig& lane,
                                                 const std::filesystem::path& judge_file);

}  // namespace ditar
