#include "commands/support.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace ditar {

Project open_project(const GlobalOptions& global) {
  return Project::open(std::filesystem::current_path(), global.config);
}

nlohmann::json to_json(const Attempt& attempt) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  return {{"id", attempt.id},
          {"session", attempt.session},
          {"lane", attempt.lane},
          {"commit", attempt.commit},
          {"parent", attempt.parent},
          {"classification", attempt.classification},
          {"audited_class", attempt.audited_class},
          {"audit", attempt.audit},
          {"quality", attempt.quality ? to_json(*attempt.quality) : nlohmann::json()},
          {"description", attempt.description},
          {"expect", attempt.expect},
          {"cites", attempt.cites},
          {"label", attempt.supported ? "" : "external/new hypothesis"},
          {"verdict", attempt.verdict},
          {"reason", attempt.reason},
          {"why", attempt.why},
          {"next_step", attempt.next_step},
          {"phase_shift", attempt.phase_shift},
          {"metric_seconds", number(attempt.metric_seconds)},
          {"memory_bytes", number(attempt.memory_bytes)},
          {"speedup_percent", number(attempt.speedup_percent)},
          {"speedup_low_percent", number(attempt.low_percent)},
          {"speedup_high_percent", number(attempt.high_percent)},
          {"receipt", attempt.receipt}};
}

std::string verdict_text(const Attempt& attempt) {
  if (attempt.verdict.empty()) return "open";
  if (attempt.reason.empty()) return attempt.verdict;
  return attempt.verdict + "(" + attempt.reason + ")";
}

std::string speedup_text(const Attempt& attempt) {
  if (!attempt.speedup_percent) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", *attempt.speedup_percent);
  return text;
}

void refresh_results(const Project& project, const std::vector<Record>& records) {
  write_results_tsv(project.layout.results, result_rows(attempts_of(records)));
}

std::filesystem::path program_folder() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw IoError("cannot read /proc/self/exe; mount /proc");
  return self.parent_path();
}

}  // namespace ditar
