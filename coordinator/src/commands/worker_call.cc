#include "commands/worker_call.h"

#include "commands/support.h"
#include "ditar/config/error.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <string_view>

namespace ditar {
namespace {

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

}  // namespace

std::filesystem::path find_worker(const std::string& worker) {
  const std::filesystem::path program =
      worker.empty() ? program_folder() / "dit-worker" : std::filesystem::absolute(worker);
  if (!std::filesystem::exists(program)) {
    throw Unavailable("no worker at " + program.string() + "; build it or name one with --worker");
  }
  return program;
}

ProcessResult call_by_hand(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           std::chrono::milliseconds patience) {
  ProcessSpec spec;
  spec.program = program;
  spec.arguments = arguments;
  spec.environment = own_environment();
  spec.timeout = patience;
  ProcessResult result = run_process(spec);
  if (result.timed_out) {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(patience).count();
    throw TimeoutError("dit-worker " + arguments.front() + " did not end within " +
                       std::to_string(minutes) + " minutes; ask it for less");
  }
  return result;
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

}  // namespace ditar
