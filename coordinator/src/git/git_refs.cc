// Refs: read, compare-and-swap, and the one move of the user's checkout.
#include "ditar/config/error.h"
#include "ditar/coordinator/git_repository.h"
#include "git/git_command.h"
#include "git/git_parse.h"

#include <algorithm>

namespace ditar {

std::string GitRepository::read_ref(const std::string& ref) const {
  for (const auto& [name, value] : list_refs(ref)) {
    if (name == ref) return value;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> GitRepository::list_refs(
    const std::string& prefix) const {
  std::vector<std::pair<std::string, std::string>> refs;
  const std::string text = run({"for-each-ref", "--format=%(objectname) %(refname)", prefix});
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    refs.emplace_back(line.substr(space + 1), line.substr(0, space));
  }
  return refs;
}

bool GitRepository::update_ref(const std::string& ref, const std::string& value,
                               const std::string& expected, const std::string& reason) const {
  require(ref.rfind("refs/", 0) == 0, "\"" + ref + "\" is no full ref name");
  // The all-zero id stands for "must not exist".
  const std::string old = expected.empty() ? std::string(value.size(), '0') : expected;
  std::string line = reason;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  const ProcessResult result = run_process(
      git_command(git_, root_, git_dir_,
                  {"update-ref", "--no-deref", "--create-reflog", "-m", line, ref, value, old}));
  if (result.ok()) return true;
  if (read_ref(ref) != expected) return false;
  throw IoError("git cannot set " + ref + ": " +
                result.errors.substr(0, std::min(result.errors.find('\n'), result.errors.size())));
}

void GitRepository::reset_hard(const std::string& commit, const std::string& expected_head,
                               const std::string& archive_ref) const {
  if (read_ref(archive_ref) != expected_head) {
    throw Error("the commit " + expected_head + " is not archived under " + archive_ref +
                    "; nothing was reset",
                ExitCode::kRules);
  }
  if (head() != expected_head) {
    throw Error("HEAD moved from " + expected_head + " meanwhile; nothing was reset",
                ExitCode::kRules);
  }
  if (const WorkTreeStatus now = status(); !now.changed.empty()) {
    throw Error(
        "\"" + now.changed.front() +
            "\" has changes that are not committed; commit or stash them, nothing was reset",
        ExitCode::kRules);
  }
  run({"reset", "--hard", "--quiet", commit, "--"});
}

}  // namespace ditar
