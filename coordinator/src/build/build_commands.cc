#include "build/build_commands.h"

#include "build/build_recipe.h"

#include <algorithm>
#include <cctype>

namespace ditar {
namespace {

/// CMake's command names know no case.
std::size_t count_of(const std::string& text, const std::string& command) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::size_t n = 0;
  for (std::size_t at = lower.find(command); at != std::string::npos;
       at = lower.find(command, at + 1)) {
    ++n;
  }
  return n;
}

std::string text_of(const GitRepository& git, const std::string& object) {
  const bool none = object.find_first_not_of('0') == std::string::npos;
  return none ? std::string() : git.read_blob(object);
}

}  // namespace

std::vector<std::string> build_command_faults(const GitRepository& git,
                                              const std::vector<TreeChange>& changes) {
  std::vector<std::string> faults;
  for (const TreeChange& change : changes) {
    if (!is_cmake_file(change.path)) continue;
    const std::string before = text_of(git, change.old_object);
    const std::string after = text_of(git, change.new_object);
    for (const char* command : {"execute_process", "exec_program", "add_custom_command",
                                "add_custom_target", "try_run", "ctest_", "externalproject",
                                "fetchcontent", "cmake_language", "rule_launch", "_launcher"}) {
      if (count_of(after, command) <= count_of(before, command)) continue;
      faults.push_back("\"" + change.path + "\" runs a command while it is built (" + command +
                       ")");
      break;
    }
  }
  return faults;
}

}  // namespace ditar
