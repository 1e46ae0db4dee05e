#include "cli/console.h"
#include "commands/doctor_checks.h"
#include "commands/support.h"
#include "ditar/config/exit_codes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace ditar {
namespace {

constexpr std::array<const char*, 3> kNames = {"ok", "warn", "fail"};

const char* name_of(CheckState state) { return kNames[static_cast<std::size_t>(state)]; }

void append(std::vector<CheckLine>& all, std::vector<CheckLine> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

int run_doctor(const GlobalOptions& global, const DoctorOptions& options, Console& console) {
  const Project project = open_project(global);
  std::vector<CheckLine> lines = {{CheckState::kOk, "config", project.settings.file.string(), ""}};
  append(lines, check_files(project));
  append(lines, check_git(project));
  append(lines, check_state(project));
  append(lines, check_tools(project));
  append(lines, check_machine(project));
  append(lines, check_trust());
  if (!options.quick) append(lines, check_weights(project));

  nlohmann::json checks = nlohmann::json::array();
  std::array<int, 3> counts{};
  for (const CheckLine& line : lines) {
    ++counts[static_cast<std::size_t>(line.state)];
    std::string text = name_of(line.state);
    text.resize(6, ' ');
    text += line.name;
    text.resize(std::max<std::size_t>(text.size() + 1, 18), ' ');
    console.line(text + line.text + (line.mend.empty() ? "" : "; " + line.mend));
    checks.push_back({{"state", name_of(line.state)},
                      {"name", line.name},
                      {"text", line.text},
                      {"mend", line.mend}});
  }
  console.line(std::to_string(counts[0]) + " ok, " + std::to_string(counts[1]) + " warnings, " +
               std::to_string(counts[2]) + " failures");
  console.document(
      {{"checks", checks}, {"ok", counts[0]}, {"warnings", counts[1]}, {"failures", counts[2]}});
  return counts[2] == 0 ? 0 : to_int(ExitCode::kUnavailable);
}

}  // namespace ditar
