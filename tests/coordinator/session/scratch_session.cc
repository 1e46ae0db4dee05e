#include "scratch_session.h"

#include "test_paths.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kBranch = "autoresearch/tests";
constexpr int kTries = 4;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

/// The lane in small: fewer items, shorter blocks, and a noise limit that a machine with other work
/// meets. The effects that the tests plant are many times larger than what is then still seen.
void shrink_lane(const fs::path& file) {
  ordered_json settings = ordered_json::parse(text_of(file));
  ordered_json& lane = settings["lanes"]["cpu-mnist"];
  lane["suite"] = {{"oracle_items", 8},
                   {"free_running_items", 8},
                   {"fidelity_images", 64},
                   {"score_images", 80},
                   {"fresh_score_images", 40}};
  lane["steps"] = 6;
  ordered_json& decision = lane["decision"];
  decision.update({{"quads_per_block", 2},
                   {"min_blocks", 2},
                   {"confirm_blocks", 6},
                   {"confirm_p", 0.05},
                   {"calibration_blocks", 8},
                   {"alpha", 0.3},
                   {"sigma_limit", 1.0},
                   {"void_block_limit", 0.9}});
  lane["guard_metrics"] = ordered_json::array();
  settings["launch"]["progress_seconds"] = 5;
  settings["launch"]["stop_seconds"] = 5;
  put(file, settings.dump(2) + "\n");
}

}  // namespace

fs::path ScratchSession::folder() { return fs::path(DITAR_BINARY_DIR) / "tests" / "session"; }

ScratchSession::ScratchSession() : ScratchSession(folder() / "clone") {
  if (!fs::exists(root_ / ".git")) {
    ADD_FAILURE() << "there is no " << root_ << "; run the tests with ctest, which sets it up";
  }
}

std::string ScratchSession::make_clone() {
  const fs::path clone = folder() / "clone", slot = folder() / "kept-slot";
  fs::create_directories(folder() / "home");
  if (fs::exists(clone / ".autoresearch/build-slot")) {
    fs::remove_all(slot);
    fs::rename(clone / ".autoresearch/build-slot", slot);
  }
  fs::remove_all(clone);
  fs::create_directories(clone);
  const ScratchSession session(clone);
  const std::string source = DITAR_SOURCE_DIR;
  const ProcessResult cloned = session.bash(
      "set -e\n"
      "git clone -q '" +
      source +
      "' .\n"
      "git -C '" +
      source +
      "' diff --binary HEAD > ../changes.patch\n"
      "[ ! -s ../changes.patch ] || git apply --index --whitespace=nowarn ../changes.patch\n"
      "git checkout -q -B " +
      kBranch +
      "\n"
      "git config user.name tests && git config user.email tests@localhost\n");
  if (!cloned.ok()) return source + " cannot be cloned: " + cloned.errors;
  session.edit({{kProductFile, "product_.run(", std::string(kSlowedProduct) + "product_.run("}});
  shrink_lane(clone / "config/autoresearch.json");
  session.commit("scratch: Slow every product, and make the lane small");
  if (fs::exists(slot)) {
    fs::create_directories(clone / ".autoresearch");
    fs::rename(slot, clone / ".autoresearch/build-slot");
  }
  return {};
}

void ScratchSession::keep_state() const {
  const ProcessResult kept = bash(
      "set -e\n"
      "rm -rf ../state && mkdir ../state\n"
      "git for-each-ref --format='%(objectname) %(refname)' refs/dit-ar refs/heads > "
      "../state/refs\n"
      "cp .autoresearch/ledger.jsonl .autoresearch/results.tsv ../state\n"
      "cp -a .autoresearch/build-slot ../state\n");
  ASSERT_TRUE(kept.ok()) << kept.errors;
}

void ScratchSession::restore_build_slot() const {
  const ProcessResult done = bash(
      "set -e\n"
      "rm -rf .autoresearch/build-slot\n"
      "cp -a ../state/build-slot .autoresearch\n");
  ASSERT_TRUE(done.ok()) << done.errors;
}

void ScratchSession::restore() const {
  const ProcessResult done =
      bash(std::string("set -e\n"
                       "rm -f .git/index.lock\n"
                       "cp ../state/ledger.jsonl ../state/results.tsv .autoresearch\n"
                       "git checkout -q -f --detach\n"
                       "git for-each-ref --format='delete %(refname)' refs/dit-ar refs/heads |\n"
                       "  git update-ref --stdin\n"
                       "sed 's/^\\([^ ]*\\) \\(.*\\)/create \\2 \\1/' ../state/refs |\n"
                       "  git update-ref --stdin\n"
                       "git checkout -q -f ") +
           kBranch + "\ngit clean -q -fd\n");
  ASSERT_TRUE(done.ok()) << done.errors;
}

ScratchSession::ScratchSession(fs::path root) : root_(std::move(root)) {}

ProcessSpec ScratchSession::spec(const fs::path& program) const {
  ProcessSpec spec;
  spec.program = program;
  spec.environment = allowed_environment({"PATH", "LD_LIBRARY_PATH"});
  spec.environment["PATH"] = std::string(DITAR_BINARY_DIR) + "/bin:" + spec.environment["PATH"];
  spec.environment["HOME"] = (folder() / "home").string();
  spec.environment["GIT_CONFIG_NOSYSTEM"] = "1";
  spec.environment["LC_ALL"] = "C.UTF-8";
  spec.directory = root_;
  spec.timeout = std::chrono::minutes(20);
  return spec;
}

ProcessSpec ScratchSession::command(const std::vector<std::string>& arguments) const {
  ProcessSpec command = spec(std::string(DITAR_BINARY_DIR) + "/bin/dit-ar");
  command.arguments = {"--config", "config/autoresearch.json"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

ProcessResult ScratchSession::dit_ar(const std::vector<std::string>& arguments) const {
  return run_process(command(arguments));
}

ProcessResult ScratchSession::bash(const std::string& lines) const {
  ProcessSpec command = spec(find_program("bash"));
  command.arguments = {"-c", lines};
  return run_process(command);
}

std::string ScratchSession::git(const std::string& arguments) const {
  const ProcessResult result = bash("git " + arguments);
  EXPECT_TRUE(result.ok()) << "git " << arguments << ": " << result.errors;
  return result.output.substr(0, result.output.find_last_not_of('\n') + 1);
}

std::string ScratchSession::read(const std::string& path) const { return text_of(root_ / path); }

void ScratchSession::write(const std::string& path, const std::string& text) const {
  put(root_ / path, text);
}

void ScratchSession::edit(const std::vector<SourceEdit>& edits) const {
  for (const SourceEdit& edit : edits) {
    std::string text = read(edit.file);
    const std::size_t at = text.find(edit.find);
    ASSERT_NE(at, std::string::npos) << edit.file << " no longer holds: " << edit.find;
    ASSERT_EQ(text.find(edit.find, at + 1), std::string::npos)
        << edit.file << " holds twice: " << edit.find;
    write(edit.file, text.replace(at, edit.find.size(), edit.replace));
  }
}

void ScratchSession::set_knob(const std::string& name, const nlohmann::json& value) const {
  ordered_json knobs = ordered_json::parse(read("config/engine.json"));
  ASSERT_TRUE(knobs.contains(name)) << name;
  knobs[name] = value;
  write("config/engine.json", knobs.dump(2) + "\n");
}

void ScratchSession::commit(const std::string& message) const {
  git("add -A");
  git("commit -q --no-verify -m '" + message + "'");
}

nlohmann::json ScratchSession::experiment(const std::string& classification,
                                          const std::string& description) const {
  nlohmann::json document;
  for (int tried = 1; tried <= kTries; ++tried) {
    const ProcessResult result = dit_ar(
        {"experiment", "--json", "--classification", classification, "--description", description});
    document = nlohmann::json::parse(result.output, nullptr, false);
    if (document.value("verdict", "") != "RETRY") {
      EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
      return document;
    }
    EXPECT_EQ(result.exit_code, 75) << "RETRY is the exit code 75";
  }
  ADD_FAILURE() << "the machine was at fault " << kTries << " times: " << document.value("why", "");
  return document;
}

std::string verdict_of(const nlohmann::json& document) {
  const std::string reason = document.value("reason", "");
  return document.value("verdict", document.dump()) + (reason.empty() ? "" : "(" + reason + ")");
}

}  // namespace ditar
