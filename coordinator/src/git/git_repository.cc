#include "ditar/coordinator/git_repository.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "git/git_command.h"
#include "git/git_parse.h"
#include "ledger/file_io.h"

#include <algorithm>

namespace ditar {
namespace {

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find('\n'), text.size())));
}

// The git directory that `folder/.git` is or points to; empty if there is none.
std::filesystem::path git_directory_of(const std::filesystem::path& folder) {
  const std::filesystem::path dot_git = folder / ".git";
  std::error_code ignored;
  if (std::filesystem::is_directory(dot_git, ignored)) return dot_git;
  if (!std::filesystem::is_regular_file(dot_git, ignored)) return {};
  const std::string text = first_line(read_whole(dot_git));
  if (text.rfind("gitdir: ", 0) != 0) return {};
  return std::filesystem::weakly_canonical(folder / text.substr(8));
}

// Header lines of a raw commit that start with `key`.
std::vector<std::string> header_values(std::string_view raw, const std::string& key) {
  std::vector<std::string> values;
  const std::string_view header = raw.substr(0, raw.find("\n\n"));
  for (const std::string_view line : split(header, '\n')) {
    if (line.rfind(key + " ", 0) == 0) values.emplace_back(line.substr(key.size() + 1));
  }
  return values;
}

}  // namespace

GitRepository GitRepository::open(const std::filesystem::path& inside) {
  GitRepository made;
  made.git_ = find_program("git");
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(inside, error);
  if (error) throw InvalidArgument("there is no folder " + inside.string());
  while (true) {
    made.git_dir_ = git_directory_of(folder);
    if (!made.git_dir_.empty()) break;
    if (folder == folder.parent_path()) {
      throw InvalidArgument(inside.string() + " is not inside a git work tree; run dit-ar in one");
    }
    folder = folder.parent_path();
  }
  made.root_ = folder;
  made.run({"rev-parse", "--git-dir"});
  return made;
}

std::string GitRepository::run(std::vector<std::string> arguments, const std::string& input) const {
  const std::string name = arguments.front();
  ProcessSpec spec = git_command(git_, root_, git_dir_, std::move(arguments));
  spec.input = input;
  ProcessResult result = run_process(spec);
  if (!result.ok()) {
    throw IoError("git " + name + " in " + root_.string() + " failed" +
                  (result.timed_out ? " (time limit)" : "") + ": " + first_line(result.errors));
  }
  return std::move(result.output);
}

std::string GitRepository::resolve_commit(const std::string& name) const {
  try {
    return first_line(
        run({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}));
  } catch (const IoError&) {
    throw InvalidArgument("there is no commit \"" + name + "\" in " + root_.string());
  }
}

std::string GitRepository::branch() const {
  const ProcessResult result =
      run_process(git_command(git_, root_, git_dir_, {"symbolic-ref", "--quiet", "HEAD"}));
  const std::string ref = first_line(result.output);
  const std::string heads = "refs/heads/";
  return result.ok() && ref.rfind(heads, 0) == 0 ? ref.substr(heads.size()) : std::string();
}

std::string GitRepository::tree_of(const std::string& commit) const {
  return header_values(run({"cat-file", "commit", commit}), "tree").at(0);
}

std::vector<std::string> GitRepository::parents_of(const std::string& commit) const {
  return header_values(run({"cat-file", "commit", commit}), "parent");
}

std::string GitRepository::message_of(const std::string& commit) const {
  const std::string raw = run({"cat-file", "commit", commit});
  const std::size_t end = raw.find("\n\n");
  return end == std::string::npos ? std::string() : raw.substr(end + 2);
}

std::string GitRepository::object_at(const std::string& commit, const std::string& path) const {
  const ProcessResult result = run_process(
      git_command(git_, root_, git_dir_,
                  {"rev-parse", "--verify", "--quiet", "--end-of-options", commit + ":" + path}));
  return result.ok() ? first_line(result.output) : std::string();
}

std::string GitRepository::read_blob(const std::string& object) const {
  return run({"cat-file", "blob", object});
}

std::vector<std::string> GitRepository::read_blobs(const std::vector<std::string>& objects) const {
  std::string input;
  for (const std::string& object : objects) input += object + "\n";
  if (objects.empty()) return {};
  const std::string output = run({"cat-file", "--batch"}, input);
  std::vector<std::string> blobs;
  std::size_t at = 0;
  for (const std::string& object : objects) {
    const std::size_t end = output.find('\n', at);
    const std::vector<std::string_view> words =
        split(std::string_view(output).substr(at, end - at), ' ');
    if (end == std::string::npos || words.size() != 3 || words[1] != "blob") {
      throw DataError("git has no file content " + object + " in " + root_.string() +
                      "; run git fsck");
    }
    const std::size_t size = std::stoull(std::string(words[2]));
    if (output.size() < end + 1 + size + 1) throw DataError("git cut short the content " + object);
    blobs.push_back(output.substr(end + 1, size));
    at = end + 1 + size + 1;
  }
  return blobs;
}

std::vector<TreeEntry> GitRepository::list_tree(const std::string& tree) const {
  return parse_tree(run({"ls-tree", "-r", "-z", "--full-tree", tree}));
}

std::vector<TreeChange> GitRepository::diff_trees(const std::string& before,
                                                  const std::string& after) const {
  return parse_changes(run({"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
                            "--no-ext-diff", "--no-textconv", before, after}));
}

std::string GitRepository::diff_text(const std::string& before, const std::string& after) const {
  constexpr std::size_t kCap = 1 << 20;
  std::string text = run(
      {"diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", before, after});
  if (text.size() > kCap) text = text.substr(0, kCap) + "\n[cut here]\n";
  return text;
}

std::string GitRepository::change_id(const std::string& before, const std::string& after) const {
  Sha256 hasher;
  for (const TreeChange& change : diff_trees(before, after)) {
    hasher.update(std::string(1, change.kind) + " " + change.old_mode + " " + change.new_mode +
                  " " + change.old_object + " " + change.new_object + " " + change.path + '\0');
  }
  return hasher.hex();
}

}  // namespace ditar
