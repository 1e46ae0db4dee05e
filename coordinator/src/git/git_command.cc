#include "git/git_command.h"

namespace ditar {

ProcessSpec git_command(const std::filesystem::path& git, const std::filesystem::path& root,
                        const std::filesystem::path& git_dir, std::vector<std::string> arguments) {
  ProcessSpec spec;
  spec.program = git;
  spec.directory = root;
  spec.environment = {
      {"PATH", "/usr/bin:/bin"},           {"HOME", "/nonexistent"},
      {"XDG_CONFIG_HOME", "/nonexistent"}, {"LC_ALL", "C"},
      {"GIT_CONFIG_NOSYSTEM", "1"},        {"GIT_CONFIG_SYSTEM", "/dev/null"},
      {"GIT_CONFIG_GLOBAL", "/dev/null"},  {"GIT_ATTR_NOSYSTEM", "1"},
      {"GIT_NO_REPLACE_OBJECTS", "1"},     {"GIT_NO_LAZY_FETCH", "1"},
      {"GIT_GRAFT_FILE", "/dev/null"},     {"GIT_OPTIONAL_LOCKS", "0"},
      {"GIT_TERMINAL_PROMPT", "0"},        {"GIT_PAGER", "cat"},
      {"GIT_DIR", git_dir.string()},       {"GIT_WORK_TREE", root.string()},
      {"GIT_AUTHOR_NAME", "dit-ar"},       {"GIT_AUTHOR_EMAIL", "dit-ar@localhost"},
      {"GIT_COMMITTER_NAME", "dit-ar"},    {"GIT_COMMITTER_EMAIL", "dit-ar@localhost"}};
  for (const char* setting : {"core.hooksPath=/dev/null",
                              "core.fsmonitor=false",
                              "core.untrackedCache=false",
                              "core.autocrlf=false",
                              "core.eol=lf",
                              "core.safecrlf=false",
                              "core.attributesFile=/dev/null",
                              "core.quotePath=false",
                              "core.fileMode=true",
                              "core.logAllRefUpdates=true",
                              "core.pager=cat",
                              "diff.renames=false",
                              "diff.noprefix=false",
                              "diff.ignoreSubmodules=none",
                              "color.ui=false",
                              "submodule.recurse=false",
                              "gc.auto=0",
                              "maintenance.auto=false",
                              "log.showSignature=false",
                              "protocol.allow=never"}) {
    spec.arguments.insert(spec.arguments.end(), {"-c", setting});
  }
  spec.arguments.insert(spec.arguments.end(), arguments.begin(), arguments.end());
  return spec;
}

}  // namespace ditar
