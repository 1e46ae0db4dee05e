// The state of the user's checkout, found by comparing bytes. No filter runs, the index is only
// read.
#include "ditar/config/error.h"
#include "ditar/coordinator/git_repository.h"
#include "git/git_command.h"
#include "git/git_parse.h"
#include "ledger/file_io.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

namespace ditar {
namespace {

struct IndexEntry {
  std::string mode, object;
  bool conflict = false;
};

// `ls-files -s -z`: "mode object stage\tpath".
std::map<std::string, IndexEntry> parse_index(std::string_view text) {
  std::map<std::string, IndexEntry> entries;
  for (const std::string_view line : split(text, '\0')) {
    const std::size_t tab = line.find('\t');
    const std::vector<std::string_view> words = split(line.substr(0, tab), ' ');
    if (tab == std::string_view::npos || words.size() != 3) continue;
    IndexEntry& entry = entries[std::string(line.substr(tab + 1))];
    entry = {std::string(words[0]), std::string(words[1]), words[2] != "0"};
  }
  return entries;
}

// Mode of a path on disk as git would store it; empty if it is no file or link.
std::string mode_on_disk(const std::filesystem::path& file) {
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0) return {};
  if (S_ISLNK(facts.st_mode)) return "120000";
  if (!S_ISREG(facts.st_mode)) return {};
  return (facts.st_mode & S_IXUSR) != 0 ? "100755" : "100644";
}

std::string without_returns(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

bool ours(std::string_view path) { return path.rfind(".autoresearch/", 0) == 0; }

}  // namespace

WorkTreeStatus GitRepository::status() const {
  std::set<std::string> changed;
  const std::map<std::string, IndexEntry> index = parse_index(run({"ls-files", "-s", "-z"}));
  std::set<std::string> committed;
  for (const TreeEntry& entry : list_tree(head())) {
    committed.insert(entry.path);
    const auto found = index.find(entry.path);
    if (found == index.end() || found->second.object != entry.object ||
        found->second.mode != entry.mode || found->second.conflict) {
      changed.insert(entry.path);
    }
  }
  std::vector<std::string> paths;
  std::string list;
  for (const auto& [path, entry] : index) {
    if (committed.count(path) == 0) changed.insert(path);
    if (entry.mode == "160000") continue;  // a submodule's own checkout is its own matter
    if (mode_on_disk(root_ / path) != entry.mode || path.find('\n') != std::string::npos) {
      changed.insert(path);
    } else if (entry.mode == "120000") {
      if (std::filesystem::read_symlink(root_ / path).string() != read_blob(entry.object)) {
        changed.insert(path);
      }
    } else {
      paths.push_back(path);
      list += (root_ / path).string() + "\n";
    }
  }
  if (!paths.empty()) {
    const std::string output = run({"hash-object", "--no-filters", "--stdin-paths"}, list);
    const std::vector<std::string_view> hashes = split(output, '\n');
    for (std::size_t i = 0; i < paths.size() && i < hashes.size(); ++i) {
      const std::string& object = index.at(paths[i]).object;
      if (hashes[i] == object) continue;
      // A checkout with CRLF line ends of an LF file is no change of the user's.
      const std::string text = read_whole(root_ / paths[i]);
      const bool same = text.find("\r\n") != std::string::npos &&
                        without_returns(text) == without_returns(read_blob(object));
      if (!same) changed.insert(paths[i]);
    }
  }
  WorkTreeStatus status;
  for (const std::string& path : changed) {
    if (!ours(path)) status.changed.push_back(path);
  }
  const std::string others = run({"ls-files", "--others", "--exclude-standard", "-z"});
  for (const std::string_view path : split(others, '\0')) {
    if (!ours(path)) status.untracked.emplace_back(path);
  }
  return status;
}

bool GitRepository::is_ignored(const std::string& path) const {
  const ProcessResult result = run_process(
      git_command(git_, root_, git_dir_, {"check-ignore", "--quiet", "--no-index", "--", path}));
  if (!result.ok() && result.exit_code != 1) {
    throw IoError("git check-ignore in " + root_.string() + " failed: " + result.errors);
  }
  return result.ok();
}

}  // namespace ditar
