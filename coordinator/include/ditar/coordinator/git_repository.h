// A git repository read and written by plumbing alone: no hook, filter, fsmonitor, replace ref,
// external diff or foreign configuration takes part, and nothing but reset_hard() ever touches the
// user's checkout or index. Holds paths only; const calls are safe from several threads.
#pragma once

#include "ditar/config/path_rules.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditar {

/// One entry of a tree, recursive: blobs, symlinks and submodules.
struct TreeEntry {
  std::string mode;  ///< "100644", "100755", "120000" (symlink), "160000" (submodule)
  std::string object;
  std::string path;
};

/// One path that differs between two trees. Renames are a deletion and an addition.
struct TreeChange {
  char kind = 'M';  ///< 'A', 'D', 'M' or 'T' (type)
  std::string old_mode, new_mode, old_object, new_object;
  std::string path;
};

/// What differs in the user's checkout from HEAD.
struct WorkTreeStatus {
  std::vector<std::string> changed;    ///< staged or unstaged, tracked
  std::vector<std::string> untracked;  ///< not ignored
  bool clean() const noexcept { return changed.empty() && untracked.empty(); }
};

class GitRepository {
 public:
  /// The repository that `inside` lies in. @throws Unavailable if there is no git;
  /// InvalidArgument (exit 2) if `inside` is in no work tree.
  static GitRepository open(const std::filesystem::path& inside);

  const std::filesystem::path& root() const noexcept { return root_; }
  const std::filesystem::path& git_directory() const noexcept { return git_dir_; }

  /// Full id of a commit named in any way git knows. @throws InvalidArgument if there is none.
  std::string resolve_commit(const std::string& name) const;
  std::string head() const { return resolve_commit("HEAD"); }
  /// Short branch name ("autoresearch/mar5"); empty if HEAD is detached.
  std::string branch() const;
  /// Blocks while the tree is scanned. Files below `.autoresearch/` never count. Contents are
  /// compared as bytes, whatever filters and index flags say; CRLF for LF alone is no change.
  WorkTreeStatus status() const;
  /// True if the repository's own ignore rules cover `path`.
  bool is_ignored(const std::string& path) const;

  std::string tree_of(const std::string& commit) const;
  std::vector<std::string> parents_of(const std::string& commit) const;
  /// The commit's message, as stored.
  std::string message_of(const std::string& commit) const;
  /// Id of the tree or blob at `path` of a commit; empty if there is none.
  std::string object_at(const std::string& commit, const std::string& path) const;
  std::string read_blob(const std::string& object) const;
  /// Many at once, in order. @throws DataError if one is missing or no blob.
  std::vector<std::string> read_blobs(const std::vector<std::string>& objects) const;

  std::vector<TreeEntry> list_tree(const std::string& tree) const;
  std::vector<TreeChange> diff_trees(const std::string& before, const std::string& after) const;
  /// The text diff of two trees for a person, capped.
  std::string diff_text(const std::string& before, const std::string& after) const;
  /// A hash of what a commit changes in its parent: equal for the same change on the same base.
  std::string change_id(const std::string& before, const std::string& after) const;

  /// Value of a ref (full name); empty if it does not exist.
  std::string read_ref(const std::string& ref) const;
  std::vector<std::pair<std::string, std::string>> list_refs(const std::string& prefix) const;
  /// Compare-and-swap: sets `ref` to `value` only if it holds `expected` (empty: does not exist).
  /// @return false if it holds something else. @throws IoError for any other failure.
  bool update_ref(const std::string& ref, const std::string& value, const std::string& expected,
                  const std::string& reason) const;

  /// Only for `dit-ar discard`: moves branch, index and checkout to `commit`, after checking that
  /// HEAD is still `expected_head` and `archive_ref` holds it. Untracked files stay. Runs no hook.
  /// @throws Error with exit code kRules if something moved or is not archived.
  void reset_hard(const std::string& commit, const std::string& expected_head,
                  const std::string& archive_ref) const;

 private:
  GitRepository() = default;
  std::string run(std::vector<std::string> arguments, const std::string& input = {}) const;
  std::filesystem::path git_, root_, git_dir_;
};

/// What the rules have against a change; empty if nothing. One sentence per fault: path outside
/// `rules`, symlink, submodule, odd name, a file that git itself obeys (.gitattributes).
std::vector<std::string> change_faults(const std::vector<TreeChange>& changes,
                                       const PathRules& rules);
/// Empty if `path` may be written to disk by export: no empty, "." or ".." part, no ".git" in any
/// case, no control character or backslash, no part over 255 bytes. Else the reason.
std::string path_name_fault(std::string_view path);

}  // namespace ditar
