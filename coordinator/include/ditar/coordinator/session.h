// A session: a branch autoresearch/<tag> with its lane, locked paths and baseline. Everything here
// is read from the ledger and the refs; there is no second truth. Values; a Session is for one
// thread.
//
// Records used (body keys): session-init {session, branch, lane, original, settings_sha256, locks:
// {path: object id}}, baseline {session, ok}, intent {session, id, commit, ...}, verdict {session,
// id, verdict, ...}, abandoned {session, id, reason}, session-end {session}. Other keys are the
// caller's.
#pragma once

#include "ditar/config/settings.h"
#include "ditar/coordinator/git_repository.h"
#include "ditar/coordinator/ledger.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// The folders of `.autoresearch/` (all below the git root).
struct StateLayout {
  explicit StateLayout(const std::filesystem::path& git_root);
  std::filesystem::path root, ledger, results, runs, baseline, trees, builds, lock, blobs;
  std::filesystem::path run(const std::string& id) const { return runs / id; }
  std::filesystem::path baseline_of(const std::string& lane) const { return baseline / lane; }
  /// Makes the folders. @throws IoError.
  void create() const;
};

/// An attempt whose intent is recorded and whose verdict is not.
struct OpenAttempt {
  std::string id, commit;
  std::int64_t seq = 0;
};

struct SessionState {
  std::string id;      ///< "<tag>" of the branch, unique: "mar5", "mar5.2" after an end
  std::string branch;  ///< "autoresearch/mar5"
  std::string lane;
  std::string original;  ///< commit the baseline belongs to
  std::string settings_sha256;
  std::map<std::string, std::string> locks;  ///< path -> object id of each fixed path at init
  std::optional<Record> init, baseline;      ///< `baseline`: the last good one
  std::vector<OpenAttempt> open_attempts;
  std::map<std::string, int> verdicts;  ///< "KEEP" -> 3
  int next_number = 1;                  ///< of the next attempt
};

/// The tag of "autoresearch/<tag>"; empty if the branch is none or the tag is not letters, digits,
/// '.', '_', '-' (first a letter or digit, 64 at most).
std::string session_tag(const std::string& branch);

/// Live session of a branch as the ledger tells; nullopt if `init` never ran, or it was ended.
std::optional<SessionState> load_session(const std::vector<Record>& records,
                                         const std::string& branch);

/// Refs: refs/dit-ar/<session>/<lane>/{original,best}; every candidate refs/dit-ar/<lane>/<id>.
std::string original_ref(const SessionState& session);
std::string best_ref(const SessionState& session);
std::string archive_ref(const SessionState& session, const std::string& attempt_id);
/// "mar5-0007".
std::string attempt_id(const SessionState& session, int number);

/// Object ids of the fixed parts of a commit: every top-level path that no mutable pattern touches,
/// and within those that one does, every file outside the mutable patterns.
std::map<std::string, std::string> fixed_objects(const GitRepository& git,
                                                 const std::string& commit, const PathRules& rules);
/// Paths of `locks` that differ in `commit`, are missing, or are new. Empty: all as at init.
std::vector<std::string> lock_faults(const GitRepository& git, const std::string& commit,
                                     const PathRules& rules,
                                     const std::map<std::string, std::string>& locks);

/// Starts a session on the current branch: checks the rules, records session-init, sets original
/// and best. On a live session of that branch changes nothing and returns it (`created` false).
/// @throws Error (exit 67) for a wrong branch, a dirty tree, a pattern that matches nothing, or
/// `.autoresearch/` not ignored or tracked.
SessionState init_session(const GitRepository& git, Ledger& ledger, const Settings& settings,
                          const std::string& lane, bool& created);

/// Commit of best; falls back to original where the ref is missing. @throws DataError if the ref
/// names no commit.
std::string best_commit(const GitRepository& git, const SessionState& session);
/// Compare-and-swap of best. @throws Error (exit 67) if it moved meanwhile.
void advance_best(const GitRepository& git, const SessionState& session, const std::string& from,
                  const std::string& to, const std::string& reason);
/// Keeps a candidate under archive_ref for good; same commit twice is fine.
/// @throws DataError if the ref holds another commit.
std::string archive_commit(const GitRepository& git, const SessionState& session,
                           const std::string& attempt_id, const std::string& commit);

/// Records every open attempt of the session as abandoned; gives those it closed.
std::vector<OpenAttempt> recover_session(Ledger& ledger, const SessionState& session,
                                         const std::string& reason);

}  // namespace ditar
