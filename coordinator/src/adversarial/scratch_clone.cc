#include "adversarial/scratch_clone.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/subprocess.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <utility>

namespace ditar {
namespace {

constexpr const char* kBranch = "autoresearch/adversarial";
constexpr const char* kMaker = "worker/dit/make_engine.cc";

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put_content(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  if (!stream.flush()) throw IoError("cannot write " + file.string());
}

/// `find` must occur in the text, and only once.
std::string replaced(const std::string& text, const std::string& find, const std::string& by,
                     const std::string& place) {
  const std::size_t at = text.find(find);
  if (at == std::string::npos || text.find(find, at + 1) != std::string::npos) {
    throw DataError(place + ": the text \"" + find.substr(0, 60) +
                    "\" does not occur exactly once; the case no longer fits the sources");
  }
  return text.substr(0, at) + by + text.substr(at + find.size());
}

}  // namespace

ScratchClone::ScratchClone(const std::filesystem::path& root, std::filesystem::path folder)
    : folder_(std::move(folder)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  git({"clone", "--quiet", "--no-hardlinks", root.string(), "."});
  git({"checkout", "--quiet", "-B", kBranch});
}

std::string ScratchClone::git(const std::vector<std::string>& arguments,
                              const std::string& input) const {
  ProcessSpec spec;
  spec.program = find_program("git");
  spec.arguments = {"-c", "core.hooksPath=/dev/null",  "-c", "user.name=adversarial suite",
                    "-c", "user.email=suite@localhost"};
  spec.arguments.insert(spec.arguments.end(), arguments.begin(), arguments.end());
  spec.environment = {{"GIT_CONFIG_NOSYSTEM", "1"},
                      {"GIT_CONFIG_GLOBAL", "/dev/null"},
                      {"PATH", "/usr/bin:/bin"},
                      {"LC_ALL", "C"}};
  spec.directory = folder_;
  spec.input = input;
  spec.timeout = std::chrono::minutes(5);
  const ProcessResult result = run_process(spec);
  if (!result.ok()) throw IoError("git " + arguments.front() + " failed: " + result.errors);
  return result.output.substr(0, result.output.find_last_not_of('\n') + 1);
}

void ScratchClone::reset() {
  git({"reset", "--quiet", "--hard", "origin/HEAD"});
  git({"clean", "--quiet", "-fd"});
}

void ScratchClone::edit(const AdversarialCase& one, const CaseEdit& edit) const {
  const std::filesystem::path file = folder_ / edit.file;
  std::string text = content_of(file);
  if (!edit.find.empty()) {
    text = replaced(text, edit.find, edit.replace, one.name + ": " + edit.file);
  }
  put_content(file, text + edit.append);
}

void ScratchClone::splice_engine(const AdversarialCase& one,
                                 const std::string& shared_engine) const {
  const std::string place = one.name + ": " + kMaker;
  std::string text = content_of(folder_ / kMaker);
  text = replaced(text, "\nnamespace ditar {\nnamespace {\n",
                  "\n" + shared_engine + "\n" + one.engine + "\nnamespace ditar {\nnamespace {\n",
                  place);
  text = replaced(text,
                  "return std::make_unique<DitEngine>(checkpoint, options, knobs, communicator);",
                  "return wrapped(std::make_unique<DitEngine>(checkpoint, options, knobs, "
                  "communicator), options);",
                  place);
  put_content(folder_ / kMaker, text);
}

void ScratchClone::set_knobs(const AdversarialCase& one) const {
  const std::filesystem::path file = folder_ / "config/engine.json";
  auto knobs = nlohmann::ordered_json::parse(content_of(file));
  for (const auto& [name, value] : one.knobs) {
    if (!knobs.contains(name)) throw DataError(one.name + ": engine.json has no knob " + name);
    knobs[name] = nlohmann::ordered_json::parse(value);
  }
  put_content(file, knobs.dump(2) + "\n");
}

void ScratchClone::commit(const AdversarialCase& one, const std::string& shared_engine) {
  if (!one.engine.empty()) splice_engine(one, shared_engine);
  if (!one.knobs.empty()) set_knobs(one);
  for (const CaseEdit& change : one.edits) edit(one, change);
  for (const auto& [path, target] : one.links) {
    std::filesystem::remove(folder_ / path);
    std::filesystem::create_symlink(target, folder_ / path);
  }
  git({"add", "-A"});
  git({"commit", "--quiet", "--no-verify", "-m", one.what});
}

void ScratchClone::amend(const std::string& message) {
  put_content(folder_ / "kernels/amended.txt", message + "\n");
  git({"add", "-A"});
  git({"commit", "--quiet", "--no-verify", "--amend", "-m", message});
}

void ScratchClone::amend_message(const std::string& message) const {
  git({"commit", "--quiet", "--no-verify", "--amend", "-m", message});
}

void ScratchClone::commit_parent_path() const {
  const std::string blob = git({"hash-object", "-w", "--stdin"}, "overwritten\n");
  const std::string entries = git({"ls-tree", "HEAD"}) + "\n100644 blob " + blob + "\t..\n";
  const std::string tree = git({"mktree"}, entries);
  const std::string commit =
      git({"commit-tree", tree, "-p", "HEAD^", "-m", "a tree that climbs out"});
  git({"update-ref", "HEAD", commit});
}

}  // namespace ditar
