#include "ditar/coordinator/trusted_tools.h"

#include "build/build_recipe.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/subprocess.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

TrustedTool read_tool(const std::string& name, const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::canonical(path);
  return {name, file.string(), sha256_file(file)};
}

}  // namespace

std::vector<TrustedTool> trusted_tools(const Settings& settings, const LaneConfig& lane) {
  std::map<std::string, std::string> environment =
      allowed_environment(settings.build.environment_allow);
  environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  const BuildTools build = find_build_tools(environment, lane.gpus > 0);
  std::vector<TrustedTool> tools;
  tools.push_back(read_tool("git", find_program("git")));
  tools.push_back(read_tool("cmake", build.cmake));
  tools.push_back(read_tool("ninja", build.ninja));
  tools.push_back(read_tool("c++", build.compiler));
  if (!build.nvcc.empty()) tools.push_back(read_tool("nvcc", build.nvcc));
  tools.push_back(read_tool("mpirun", settings.launch.mpirun.empty()
                                          ? find_program("mpirun")
                                          : std::filesystem::path(settings.launch.mpirun)));
  return tools;
}

std::string changed_tool(const nlohmann::json& recorded, const std::vector<TrustedTool>& now) {
  if (recorded.is_null()) return {};
  for (const TrustedTool& tool : now) {
    const nlohmann::json then = recorded.value(tool.name, nlohmann::json::object());
    const std::string sha256 = then.value("sha256", ""), path = then.value("path", "none");
    if (sha256 == tool.sha256 && path == tool.path) continue;
    return tool.name + " is " + tool.path + " (sha256 " + tool.sha256.substr(0, 12) +
           "), the baseline was measured with " + path + " (" + sha256.substr(0, 12) + ")";
  }
  return {};
}

nlohmann::json to_json(const std::vector<TrustedTool>& tools) {
  nlohmann::json body = nlohmann::json::object();
  for (const TrustedTool& tool : tools) {
    body[tool.name] = {{"path", tool.path}, {"sha256", tool.sha256}};
  }
  return body;
}

}  // namespace ditar
