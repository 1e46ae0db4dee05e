#include "cli/console.h"
#include "commands/commands.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/subprocess.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <string_view>

namespace ditar {
namespace {

constexpr std::chrono::minutes kPatience{30};

/// A profile is made by hand, in the environment of whoever asks.
std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

std::string trimmed(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \n");
  return last == std::string::npos ? std::string() : text.substr(0, last + 1);
}

/// The worker's last line without its clock and name.
std::string fault_of(const std::string& errors) {
  const std::string text = trimmed(errors);
  const std::string mark = " error: ";
  const std::size_t at = text.rfind(mark);
  return at == std::string::npos ? text : text.substr(at + mark.size());
}

}  // namespace

int run_profile(const GlobalOptions&, const ProfileCommandOptions& options, Console& console) {
  ProcessSpec spec;
  spec.program = options.worker.empty() ? program_folder() / "dit-worker"
                                        : std::filesystem::absolute(options.worker);
  if (!std::filesystem::exists(spec.program)) {
    throw Unavailable("no worker at " + spec.program.string() +
                      "; build it or name one with --worker");
  }
  spec.arguments = {"profile"};
  for (const auto& [name, value] : options.values) {
    if (value.empty()) continue;
    spec.arguments.push_back(name);
    spec.arguments.push_back(value);
  }
  if (console.json()) spec.arguments.emplace_back("--json");
  spec.environment = own_environment();
  spec.timeout = kPatience;
  const ProcessResult result = run_process(spec);
  if (result.timed_out) {
    throw TimeoutError(
        "dit-worker profile did not end within 30 minutes; ask for fewer --repeats, "
        "--steps or --images");
  }
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
