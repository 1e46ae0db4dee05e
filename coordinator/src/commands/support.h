// What several commands share: opening the project, JSON forms of an attempt. One thread.
#pragma once

#include "commands/commands.h"
#include "ditar/coordinator/attempts.h"
#include "ditar/coordinator/project.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace ditar {

/// The project around the current folder.
Project open_project(const GlobalOptions& global);
/// An attempt as --json shows it; unknown numbers are null.
nlohmann::json to_json(const Attempt& attempt);
/// "KEEP", "DISCARD(speed)", "CRASH(build)", "open".
std::string verdict_text(const Attempt& attempt);
/// "+3.2 %", or "-" if it was not measured.
std::string speedup_text(const Attempt& attempt);
/// Writes results.tsv anew from the records.
void refresh_results(const Project& project, const std::vector<Record>& records);
/// Folder of the running program, for dit-worker beside it.
std::filesystem::path program_folder();

}  // namespace ditar
