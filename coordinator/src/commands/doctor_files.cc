// doctor: required files, weights, git and session state.
#include "commands/doctor_checks.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/ledger.h"
#include "ditar/knowledge/search.h"

#include <fstream>

namespace ditar {
namespace {

CheckLine file_line(const std::filesystem::path& root, const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(root / path, error);
  if (error) {
    return {CheckState::kFail, "file", path + " is missing", "restore it: git checkout -- " + path};
  }
  if (size < 64) {
    return {CheckState::kFail, "file", path + " is empty or cut",
            "restore it: git checkout -- " + path};
  }
  return {CheckState::kOk, "file", path, ""};
}

CheckLine weight_line(const std::filesystem::path& root, const std::string& lane,
                      const std::string& path, const std::string& expected) {
  const std::filesystem::path file = root / path;
  if (!std::filesystem::exists(file)) {
    return {CheckState::kFail, "weights", path + " of lane " + lane + " is missing",
            "restore it: git checkout -- " + path};
  }
  const std::string actual = sha256_file(file);
  if (!expected.empty() && actual != expected) {
    return {CheckState::kFail, "weights",
            path + " has SHA-256 " + actual.substr(0, 12) + "..., lane " + lane + " asks for " +
                expected.substr(0, 12) + "...",
            "restore it: git checkout -- " + path};
  }
  return {CheckState::kOk, "weights", path + " (" + actual.substr(0, 12) + ")", ""};
}

}  // namespace

std::vector<CheckLine> check_files(const Project& project) {
  std::vector<std::string> paths = {"program.md", "README.md", "SKILL.md",
                                    project.settings.engine_knobs};
  for (const std::string& page : required_handbook_pages()) {
    paths.push_back((std::filesystem::path(project.settings.handbook) / page).string());
  }
  std::vector<CheckLine> out;
  for (const std::string& path : paths) out.push_back(file_line(project.git.root(), path));
  return out;
}

std::vector<CheckLine> check_weights(const Project& project) {
  std::vector<CheckLine> out;
  for (const auto& [name, lane] : project.settings.lanes) {
    if (lane.gpus > 0) continue;
    if (!lane.model_path.empty()) {
      out.push_back(weight_line(project.git.root(), name, lane.model_path, lane.model_sha256));
    }
    if (!lane.judge_path.empty()) {
      out.push_back(weight_line(project.git.root(), name, lane.judge_path, lane.judge_sha256));
    }
  }
  return out;
}

std::vector<CheckLine> check_git(const Project& project) {
  std::vector<CheckLine> out;
  const std::string branch = project.git.branch();
  if (session_tag(branch).empty()) {
    out.push_back(
        {CheckState::kWarn, "branch",
         "'" + (branch.empty() ? std::string("(detached)") : branch) + "' is no research branch",
         "before init: git switch -c autoresearch/<tag>"});
  } else {
    out.push_back({CheckState::kOk, "branch", branch, ""});
  }
  const WorkTreeStatus tree = project.git.status();
  if (tree.clean()) {
    out.push_back({CheckState::kOk, "tree", "clean", ""});
  } else {
    const std::string first = tree.changed.empty() ? tree.untracked.front() : tree.changed.front();
    out.push_back({CheckState::kWarn, "tree",
                   std::to_string(tree.changed.size()) + " changed and " +
                       std::to_string(tree.untracked.size()) + " untracked files, e.g. " + first,
                   "commit, undo or ignore them before an experiment"});
  }
  std::vector<std::string> tracked;
  for (const TreeEntry& entry : project.git.list_tree(project.git.tree_of("HEAD"))) {
    tracked.push_back(entry.path);
  }
  try {
    check_paths_match(project.settings, tracked);
    out.push_back({CheckState::kOk, "paths", "every fixed and mutable pattern matches", ""});
  } catch (const Error& error) {
    out.push_back({CheckState::kFail, "paths", error.message(), "mend the settings file"});
  }
  return out;
}

std::vector<CheckLine> check_state(const Project& project) {
  const LedgerCheck check = verify_chain(project.layout.ledger);
  std::vector<CheckLine> out;
  if (!check.intact()) {
    out.push_back({CheckState::kFail, "ledger", check.fault,
                   "the records before offset " + std::to_string(check.bad_offset) +
                       " are good; move the file away and restore a copy"});
    return out;
  }
  if (check.torn_bytes > 0) {
    out.push_back({CheckState::kWarn, "ledger", "its last line is torn",
                   "the next command that writes seals it: dit-ar recover"});
  } else {
    out.push_back(
        {CheckState::kOk, "ledger", std::to_string(check.records) + " records, chain good", ""});
  }
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  const auto session = load_session(ledger.records(), project.git.branch());
  if (!session) {
    out.push_back({CheckState::kOk, "session", "none yet on this branch", ""});
    return out;
  }
  const std::vector<std::string> faults =
      lock_faults(project.git, project.git.head(), project.settings.paths, session->locks);
  if (faults.empty()) {
    out.push_back({CheckState::kOk, "locks", "every fixed path is as at init", ""});
  } else {
    out.push_back({CheckState::kFail, "locks", faults.front() + " differs from init",
                   "fixed paths do not change during a session: git checkout " +
                       session->original.substr(0, 12) + " -- " + faults.front()});
  }
  if (!session->open_attempts.empty()) {
    out.push_back({CheckState::kWarn, "attempts",
                   session->open_attempts.front().id + " has no verdict", "dit-ar recover"});
  }
  return out;
}

}  // namespace ditar
