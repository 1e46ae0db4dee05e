#include "ditar/coordinator/quality_budget.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace ditar {
namespace {

using nlohmann::json;

std::optional<double> number_of(const json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

json quality_use_json(const json& quality_numbers) {
  if (!quality_numbers.is_object() || !quality_numbers.contains("gate")) return {};
  const json& gate = quality_numbers["gate"];
  json scores = json::array();
  for (const json& score : gate.value("scores", json::array())) {
    scores.push_back({{"name", score.value("name", "")},
                      {"worsening", score.value("worsening", json())},
                      {"margin", score.value("margin", json())}});
  }
  return {{"scores", scores},
          {"least_psnr_db", gate.value("least_psnr_db", json())},
          {"worst_step_error", gate.value("worst_step_error", json())}};
}

std::optional<QualityUse> quality_use_from(const json& body) {
  const auto found = body.find("quality");
  if (found == body.end() || !found->is_object()) return std::nullopt;
  QualityUse use;
  for (const json& score : found->value("scores", json::array())) {
    const auto worsening = number_of(score, "worsening"), margin = number_of(score, "margin");
    if (!worsening || !margin || !(*margin > 0.0)) continue;
    use.scores.push_back({score.value("name", ""), *worsening, *margin});
  }
  use.least_psnr_db = number_of(*found, "least_psnr_db");
  use.worst_step_error = number_of(*found, "worst_step_error");
  return use;
}

json to_json(const QualityUse& use) {
  json scores = json::array();
  for (const ScoreUse& score : use.scores) {
    scores.push_back({{"name", score.name},
                      {"worsening", score.worsening},
                      {"margin", score.margin},
                      {"share", score.share()}});
  }
  return {{"scores", scores},
          {"least_psnr_db", use.least_psnr_db ? json(*use.least_psnr_db) : json()},
          {"worst_step_error", use.worst_step_error ? json(*use.worst_step_error) : json()}};
}

std::string quality_use_text(const QualityUse& use) {
  std::string out;
  char text[96];
  for (const ScoreUse& score : use.scores) {
    std::snprintf(text, sizeof text, "%.0f %% of its margin", 100.0 * score.share());
    out += (out.empty() ? "" : ", ") + score.name + " " + (score.share() > 0.0 ? text : "none");
  }
  if (use.least_psnr_db) {
    std::snprintf(text, sizeof text, "least PSNR %.1f dB", *use.least_psnr_db);
    out += (out.empty() ? "" : "; ") + std::string(text);
  } else {
    out += (out.empty() ? "" : "; ") + std::string("the original's bits");
  }
  return out;
}

}  // namespace ditar
