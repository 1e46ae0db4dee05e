#include "ditar/coordinator/isolation.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/subprocess.h"

#include <algorithm>

namespace ditar {
namespace {

std::string joined_without(const std::string& layers, const std::string& name) {
  std::string text, rest = layers;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
    if (word != name) text += (text.empty() ? "" : ",") + word;
  }
  return text.empty() ? "none" : text;
}

/// Lies in what every fence admits.
bool is_system_folder(const std::filesystem::path& folder) {
  const std::string first = (++folder.lexically_normal().begin())->string();
  for (const char* name : {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt"}) {
    if (first == name) return true;
  }
  return false;
}

std::filesystem::path beside_this_program() {
  std::error_code fault;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
  const auto folder = self.parent_path();
  for (const auto& candidate : {folder / "dit-isolate", folder.parent_path() / "bin/dit-isolate"}) {
    if (!fault && std::filesystem::is_regular_file(candidate, fault)) return candidate;
    fault.clear();
  }
  return {};
}

}  // namespace

bool Isolation::has(const std::string& layer) const {
  return ("," + layers + ",").find("," + layer + ",") != std::string::npos;
}

Isolation find_isolation() {
  Isolation isolation;
  const std::filesystem::path program = beside_this_program();
  if (program.empty()) {
    isolation.hindrance = "dit-isolate is not beside dit-ar; build it: bash scripts/build.sh";
    return isolation;
  }
  try {
    ProcessSpec spec;
    spec.program = program;
    spec.arguments = {"--probe"};
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.timeout = std::chrono::seconds(20);
    const ProcessResult result = run_process(spec);
    if (!result.ok()) throw IoError(result.errors);
    isolation.program = program;
    isolation.layers = result.output.substr(0, result.output.find('\n'));
    if (isolation.layers == "none") {
      isolation.hindrance =
          "this machine gives neither user namespaces nor Landlock nor seccomp; run on the host or "
          "in a container that allows them";
    }
  } catch (const Error& error) {
    isolation.hindrance = program.string() + " --probe failed: " + error.message();
  }
  return isolation;
}

void add_program_folders(FencePlan& plan, const std::filesystem::path& program) {
  std::error_code fault;
  const auto real = std::filesystem::canonical(program, fault);
  for (const auto& file : {program, real}) {
    const auto folder = file.parent_path().parent_path();
    if (!fault && folder.has_relative_path() && !is_system_folder(folder)) {
      plan.readable.push_back(folder);
    }
  }
}

void add_search_path(FencePlan& plan, const char* folders) {
  std::string rest = folders == nullptr ? "" : folders;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    std::error_code fault;
    if (folder.is_absolute() && folder.has_relative_path() &&
        std::filesystem::is_directory(folder, fault) && !is_system_folder(folder)) {
      plan.readable.push_back(folder);
    }
  }
}

std::vector<std::string> fence_command(const Isolation& isolation, const FencePlan& plan) {
  if (!isolation.fenced()) return {};
  std::vector<std::string> argv = {
      isolation.program.string(), "--layers",
      plan.network ? joined_without(isolation.layers, "net") : isolation.layers};
  const auto add_paths = [&argv](const char* option, const auto& paths) {
    for (const std::filesystem::path& path : paths) {
      require(path.is_absolute(), "the fence needs absolute paths, not " + path.string());
      argv.insert(argv.end(), {option, path.string()});
    }
  };
  const auto add_number = [&argv](const char* option, std::int64_t number) {
    if (number > 0) argv.insert(argv.end(), {option, std::to_string(number)});
  };
  add_paths("--read", plan.readable);
  add_paths("--write", plan.writable);
  add_paths("--device", plan.devices);
  argv.insert(argv.end(), {"--directory", plan.directory.string()});
  add_number("--memory", plan.memory_bytes);
  add_number("--file-bytes", plan.file_bytes);
  add_number("--processes", plan.processes);
  argv.emplace_back("--");
  return argv;
}

TrustLevel trust_level(const Isolation& isolation) {
  // Either keeps a candidate from the coordinator's files and memory; the filter closes the rest.
  const bool namespaces = isolation.has("user") && isolation.has("mount");
  const bool held =
      isolation.fenced() && (namespaces || isolation.has("landlock")) && isolation.has("seccomp");
  return held ? TrustLevel::kT2 : TrustLevel::kT1;
}

std::string to_string(TrustLevel level) { return "T" + std::to_string(static_cast<int>(level)); }

std::vector<std::string> open_promises(const Isolation& isolation) {
  std::vector<std::string> out;
  if (!isolation.fenced()) {
    out.push_back("a candidate runs as this user and may read and change all that this user may: " +
                  isolation.hindrance);
  } else {
    const auto without = [&](const char* layer, const char* text) {
      if (!isolation.has(layer)) out.emplace_back(text);
    };
    without("mount", "other files' names and the shared /dev/shm are seen by a candidate");
    without("pid", "a candidate sees the list of processes");
    without("net", "a candidate may open network connections");
    without("landlock", "file rules rest on the mount namespace alone");
    without("seccomp", "no filter of system calls");
  }
  out.emplace_back(
      "heat, clocks, caches and memory bandwidth are shared: only interleaving guards");
  out.emplace_back("T3 needs another user id, a GPU of its own and locked clocks");
  return out;
}

}  // namespace ditar
