#include "cli/console.h"
#include "commands/commands.h"
#include "commands/worker_call.h"
#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

constexpr std::chrono::minutes kPatience{30};

}  // namespace

int run_profile(const GlobalOptions&, const ProfileCommandOptions& options, Console& console) {
  std::vector<std::string> arguments = {"profile"};
  for (const auto& [name, value] : options.values) {
    if (value.empty()) continue;
    arguments.push_back(name);
    arguments.push_back(value);
  }
  if (console.json()) arguments.emplace_back("--json");
  const ProcessResult result = call_by_hand(find_worker(options.worker), arguments, kPatience);
  if (!result.ok()) {
    throw Error("profile: " + fault_of(result.errors), static_cast<ExitCode>(result.exit_code));
  }
  if (!result.errors.empty()) console.note(trimmed(result.errors));
  if (console.json()) {
    console.document(nlohmann::json::parse(result.output));
  } else {
    console.line(trimmed(result.output));
  }
  return 0;
}

}  // namespace ditar
