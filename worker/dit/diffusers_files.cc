#include "diffusers_files.h"

#include "ditar/config/config_tree.h"
#include "ditar/config/error.h"

#include <set>

namespace ditar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBase = "diffusion_pytorch_model";

std::vector<fs::path> shards_of(const fs::path& index) {
  const ConfigTree tree = ConfigTree::read_file(index);
  const ConfigTree* map = tree.find("weight_map");
  if (map == nullptr || map->kind() != ConfigTree::Kind::kObject || map->members().empty()) {
    throw DataError(index.string() + ": there is no \"weight_map\" with shards in it");
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->members()) names.insert(shard.as_text());
  std::vector<fs::path> shards;
  for (const std::string& name : names) {
    if (fs::path(name).filename() != name) {
      throw DataError(index.string() + ": the shard \"" + name +
                      "\" lies outside the folder; shards must be plain file names");
    }
    if (!fs::exists(index.parent_path() / name)) {
      throw DataError(index.string() + ": the shard \"" + name + "\" is missing; fetch it");
    }
    shards.push_back(index.parent_path() / name);
  }
  return shards;
}

// Empty if this variant ("" or "fp16") is not there.
std::vector<fs::path> find_variant(const fs::path& folder, const std::string& variant) {
  const std::string base = kBase;
  const std::string dot = variant.empty() ? "" : "." + variant;
  const fs::path single = folder / (base + dot + ".safetensors");
  if (fs::exists(single)) return {single};
  for (const std::string& name :
       {base + ".safetensors.index" + dot + ".json", base + ".safetensors" + dot + ".index.json",
        base + dot + ".safetensors.index.json"}) {
    if (fs::exists(folder / name)) return shards_of(folder / name);
  }
  return {};
}

}  // namespace

DiffusersFiles find_diffusers_files(const fs::path& path) {
  DiffusersFiles files;
  files.folder = fs::exists(path / "config.json") ? path : path / "transformer";
  if (!fs::exists(files.folder / "config.json")) {
    throw IoError(path.string() +
                  ": neither config.json nor transformer/config.json is there; give a diffusers "
                  "model folder or a .safetensors file");
  }
  files.weights = find_variant(files.folder, "");
  if (files.weights.empty()) {
    files.weights = find_variant(files.folder, "fp16");
    if (!files.weights.empty()) {
      files.notices.push_back(files.folder.string() + ": only the fp16 variant is there; used");
    }
  }
  if (files.weights.empty()) {
    const bool pickled = fs::exists(files.folder / (std::string(kBase) + ".bin"));
    throw IoError(files.folder.string() + ": no " + kBase + ".safetensors is there" +
                  (pickled ? "; the .bin file is a pickle, convert it to safetensors" : ""));
  }
  return files;
}

}  // namespace ditar
