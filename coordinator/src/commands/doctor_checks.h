// The single checks of doctor. Each looks at one thing and never throws for what it looks for.
#pragma once

#include "ditar/coordinator/project.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

enum class CheckState { kOk, kWarn, kFail };

struct CheckLine {
  CheckState state = CheckState::kOk;
  std::string name;
  std::string text;
  std::string mend;  ///< what to do; empty if ok
};

std::vector<CheckLine> check_files(const Project& project);
std::vector<CheckLine> check_git(const Project& project);
std::vector<CheckLine> check_state(const Project& project);
std::vector<CheckLine> check_tools(const Project& project);
std::vector<CheckLine> check_machine(const Project& project);
std::vector<CheckLine> check_trust();
std::vector<CheckLine> check_weights(const Project& project);

}  // namespace ditar
