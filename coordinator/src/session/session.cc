#include "ditar/coordinator/session.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ditar {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(message, ExitCode::kRules); }

// The first rule that keeps a session from starting here, as an error.
void check_start(const GitRepository& git, const Settings& settings) {
  const std::vector<TreeEntry> entries = git.list_tree(git.tree_of(git.head()));
  std::vector<std::string> paths;
  for (const TreeEntry& entry : entries) {
    paths.push_back(entry.path);
    if (entry.path.rfind(".autoresearch/", 0) == 0) {
      refuse("\"" + entry.path +
             "\" is tracked by git; remove .autoresearch/ from the repository "
             "and add it to .gitignore");
    }
  }
  const std::vector<std::string> missing = settings.paths.unmatched(paths);
  if (!missing.empty()) check_paths_match(settings, paths);
  if (!git.is_ignored(".autoresearch/ledger.jsonl")) {
    refuse(
        "git does not ignore .autoresearch/; add the line /.autoresearch/ to .gitignore and "
        "commit it");
  }
  const WorkTreeStatus status = git.status();
  if (!status.clean()) {
    const std::string& first =
        status.changed.empty() ? status.untracked.front() : status.changed.front();
    refuse("the tree is not clean (\"" + first + "\"); commit, stash or ignore it");
  }
}

// "mar5", or "mar5.2" where earlier sessions of the tag have ended.
std::string fresh_id(const std::vector<Record>& records, const std::string& tag) {
  int used = 0;
  for (const Record& record : records) {
    if (record.type != "session-init") continue;
    const auto body = nlohmann::json::parse(record.body, nullptr, false);
    if (body.is_object() && session_tag(body.value("branch", "")) == tag) ++used;
  }
  return used == 0 ? tag : tag + "." + std::to_string(used + 1);
}

}  // namespace

StateLayout::StateLayout(const std::filesystem::path& git_root)
    : root(git_root / ".autoresearch"),
      ledger(root / "ledger.jsonl"),
      results(root / "results.tsv"),
      runs(root / "runs"),
      baseline(root / "baseline"),
      trees(root / "trees"),
      builds(root / "builds"),
      lock(root / "lock"),
      blobs(root / "blobs") {}

void StateLayout::create() const {
  for (const auto& folder : {root, runs, baseline, trees, builds, blobs}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw IoError("cannot make " + folder.string() + ": " + error.message());
  }
}

SessionState init_session(const GitRepository& git, Ledger& ledger, const Settings& settings,
                          const std::string& lane, bool& created) {
  created = false;
  const std::string branch = git.branch();
  const std::string tag = session_tag(branch);
  if (tag.empty()) {
    refuse("the branch is " + (branch.empty() ? "none (detached HEAD)" : "\"" + branch + "\"") +
           "; a session needs one named autoresearch/<tag>: git switch -c autoresearch/" + "<tag>");
  }
  settings.lane(lane);
  std::optional<SessionState> live = load_session(ledger.records(), branch);
  if (!live) {
    check_start(git, settings);
    const std::string head = git.head();
    const nlohmann::json body = {{"session", fresh_id(ledger.records(), tag)},
                                 {"branch", branch},
                                 {"lane", lane},
                                 {"original", head},
                                 {"settings_sha256", settings.sha256},
                                 {"locks", fixed_objects(git, head, settings.paths)}};
    ledger.append("session-init", body.dump());
    live = load_session(ledger.records(), branch);
    created = true;
  } else if (live->lane != lane) {
    refuse("the session \"" + live->id + "\" is bound to the lane " + live->lane +
           "; start another branch for the lane " + lane);
  }
  // Also after a crash between the record and the refs.
  for (const std::string& ref : {original_ref(*live), best_ref(*live)}) {
    if (git.read_ref(ref).empty()) git.update_ref(ref, live->original, "", "dit-ar init");
  }
  return *live;
}

std::string best_commit(const GitRepository& git, const SessionState& session) {
  const std::string value = git.read_ref(best_ref(session));
  if (value.empty()) return session.original;
  try {
    return git.resolve_commit(value);
  } catch (const InvalidArgument&) {
    throw DataError(best_ref(session) + " names no commit; restore it from the ledger's last KEEP");
  }
}

void advance_best(const GitRepository& git, const SessionState& session, const std::string& from,
                  const std::string& to, const std::string& reason) {
  const std::string held = git.read_ref(best_ref(session));
  if (held == to) return;  // done before a crash
  const std::string expected = held.empty() && from == session.original ? std::string() : from;
  if (!git.update_ref(best_ref(session), to, expected, reason)) {
    refuse(best_ref(session) + " moved from " + from + " meanwhile; run dit-ar status");
  }
}

std::string archive_commit(const GitRepository& git, const SessionState& session,
                           const std::string& attempt_id, const std::string& commit) {
  const std::string ref = archive_ref(session, attempt_id);
  if (!git.update_ref(ref, commit, "", "dit-ar archive") && git.read_ref(ref) != commit) {
    throw DataError(ref + " already holds another commit (" + git.read_ref(ref) + ")");
  }
  return ref;
}

}  // namespace ditar
