#include "experiment/weights_probe.h"

#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"

#include <algorithm>
#include <vector>

namespace ditar {
namespace {

bool is_first_mlp_weight(const std::string& name) {
  return (name.rfind("blocks.", 0) == 0 && name.ends_with(".mlp.fc1.weight")) ||
         (name.rfind("transformer_blocks.", 0) == 0 && name.ends_with(".ff.net.0.proj.weight"));
}

}  // namespace

ProbeModel write_probe_model(const std::filesystem::path& model,
                             const std::filesystem::path& folder, std::uint64_t draw) {
  const SafetensorsFile file(model);
  std::vector<const SafetensorsEntry*> blocks;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (is_first_mlp_weight(entry.name)) blocks.push_back(&entry);
  }
  if (blocks.empty()) throw DataError(model.string() + " has no block of a DiT to change");
  const SafetensorsEntry& chosen = *blocks[draw % blocks.size()];
  std::vector<std::byte> bytes(chosen.bytes.begin(), chosen.bytes.end());
  std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2),
              bytes.end());
  std::vector<SafetensorsItem> items;
  for (const SafetensorsEntry& entry : file.entries()) {
    items.push_back({entry.name, entry.type, entry.shape,
                     &entry == &chosen ? std::span<const std::byte>(bytes) : entry.bytes});
  }
  std::filesystem::create_directories(folder);
  const ProbeModel probe{folder / "probe.safetensors", chosen.name};
  write_safetensors(probe.path, items, file.metadata());
  return probe;
}

}  // namespace ditar
