// What a candidate uses up of the lane's margins, against the original and not against its parent:
// the sum over the kept chain, so that many small losses show (K5). Pure values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ditar {

struct ScoreUse {
  std::string name;
  double worsening = 0.0;  ///< in the score's own unit; negative: better than the original
  double margin = 0.0;     ///< the lane's; > 0
  /// Share of the margin used, >= 0.
  double share() const noexcept { return worsening > 0.0 ? worsening / margin : 0.0; }
};

struct QualityUse {
  std::vector<ScoreUse> scores;
  std::optional<double> least_psnr_db;     ///< none: every image has the original's bits
  std::optional<double> worst_step_error;  ///< relative L2 to the oracle
};

/// The part of a receipt's quality numbers ("gate") that counts here; null where none were taken.
nlohmann::json quality_use_json(const nlohmann::json& quality_numbers);
/// Of a verdict's record; none where its "quality" is missing or null.
std::optional<QualityUse> quality_use_from(const nlohmann::json& body);

nlohmann::json to_json(const QualityUse& use);

/// "accuracy 12 % of its margin, frechet none; least PSNR 61.2 dB".
std::string quality_use_text(const QualityUse& use);

}  // namespace ditar
