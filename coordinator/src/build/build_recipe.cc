#include "build/build_recipe.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/subprocess.h"

#include <set>

namespace ditar {
namespace {

std::string version_of(const std::filesystem::path& program,
                       const std::map<std::string, std::string>& environment) {
  ProcessSpec spec;
  spec.program = program;
  spec.arguments = {"--version"};
  spec.environment = environment;
  const ProcessResult result = run_process(spec);
  return program.string() + "\n" + result.output;
}

}  // namespace

bool is_cmake_file(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto ends = [&name](const std::string& tail) {
    return name.size() >= tail.size() &&
           name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
  };
  return name == "CMakeLists.txt" || name == "CMakePresets.json" || ends(".cmake") || ends(".in");
}

BuildTools find_build_tools(const std::map<std::string, std::string>& environment, bool cuda) {
  const auto found = environment.find("PATH");
  const std::string path = found == environment.end() ? "/usr/bin:/bin" : found->second;
  const auto cxx = environment.find("CXX");
  const std::string compiler = cxx == environment.end() ? "c++" : cxx->second;
  BuildTools tools{
      find_program("cmake", path),
      find_program("ninja", path),
      compiler.rfind('/', 0) == 0 ? std::filesystem::path(compiler) : find_program(compiler, path),
      {}};
  if (!cuda) return tools;
  const auto home = environment.find("CUDA_HOME");
  const std::string toolkit = home == environment.end() ? "/usr/local/cuda" : home->second;
  try {
    tools.nvcc = find_program("nvcc", path + ":" + toolkit + "/bin");
  } catch (const Unavailable&) {
    throw Unavailable("a GPU lane's worker is compiled by nvcc, which is neither on PATH nor in " +
                      toolkit + "/bin; install the CUDA toolkit or set CUDA_HOME to its folder");
  }
  return tools;
}

std::map<std::string, std::string> build_environment(const BuildRequest& request) {
  std::map<std::string, std::string> environment = allowed_environment(request.environment_allow);
  environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  // What a user's own settings and caches hold must not reach a build, nor a build them.
  environment["HOME"] = (request.state_directory / "build-slot/home").string();
  environment["TMPDIR"] = (request.state_directory / "build-slot/tmp").string();
  environment["LC_ALL"] = "C";
  environment["SOURCE_DATE_EPOCH"] = "0";
  environment["CCACHE_DISABLE"] = "1";
  return environment;
}

std::string build_recipe(const BuildRequest& request, const BuildTools& tools,
                         const std::map<std::string, std::string>& environment) {
  Sha256 hasher;
  const auto add = [&hasher](const std::string& text) { hasher.update(text + '\0'); };
  for (const auto& program : {tools.cmake, tools.ninja, tools.compiler}) {
    add(version_of(program, environment));
  }
  if (!tools.nvcc.empty()) add(version_of(tools.nvcc, environment));
  for (const int architecture : request.cuda_architectures) add(std::to_string(architecture));
  add(request.target);
  add(request.binary);
  add(request.build_type);
  for (const std::string& option : request.cmake_options) add(option);
  for (const auto& [name, value] : environment) add(name + "=" + value);
  return hasher.hex();
}

bool is_never_included(const std::string& path) {
  static const std::set<std::string> kEndings = {".cc", ".cpp",  ".cu",  ".md", ".py",
                                                 ".sh", ".json", ".png", ".txt"};
  return kEndings.contains(std::filesystem::path(path).extension().string());
}

SlotStamp slot_stamp(const std::string& recipe, const std::vector<TreeEntry>& entries) {
  Sha256 names, cmake;
  names.update(recipe + '\0');
  for (const TreeEntry& entry : entries) {
    if (is_cmake_file(entry.path)) {
      cmake.update(entry.mode + " " + entry.path + " " + entry.object + '\0');
    } else if (!is_never_included(entry.path)) {
      names.update(entry.mode + " " + entry.path + '\0');
    }
  }
  return {names.hex(), cmake.hex()};
}

}  // namespace ditar
