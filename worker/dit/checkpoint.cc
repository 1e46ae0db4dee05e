#include "checkpoint.h"

#include "checkpoint_layouts.h"
#include "ditar/config/error.h"

#include <set>

namespace ditar {
namespace {

constexpr std::size_t kMostListed = 8;

std::string list_some(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostListed; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostListed) {
    text += " and " + std::to_string(names.size() - kMostListed) + " more";
  }
  return text;
}

}  // namespace

Checkpoint Checkpoint::open(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw IoError(path.string() +
                  ": no such model; give a .safetensors file or a diffusers model folder");
  }
  Checkpoint checkpoint = std::filesystem::is_directory(path, ignored) ? DiffusersLayout::open(path)
                                                                       : OfficialLayout::open(path);
  return checkpoint;
}

std::string Checkpoint::embedder_prefix(std::int64_t block) const {
  return embedder_per_block_ ? "embedder." + std::to_string(block) + "." : "";
}

const SafetensorsEntry* Checkpoint::whole(const std::string& name) const noexcept {
  const auto it = tensors_.find(name);
  return it != tensors_.end() && it->second.parts.size() == 1 ? it->second.parts.front() : nullptr;
}

std::vector<double> Checkpoint::read(const std::string& name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) throw DataError(name_ + ": the tensor \"" + name + "\" is missing");
  std::vector<double> values;
  for (const SafetensorsEntry* part : it->second.parts) {
    const std::size_t begin = values.size();
    values.resize(begin + static_cast<std::size_t>(part->count()));
    read_floats(*part, std::span<double>(values).subspan(begin));
  }
  return values;
}

void check_tensors(const std::map<std::string, CheckpointTensor>& found,
                   const std::vector<TensorSpec>& expected, const std::string& file) {
  std::vector<std::string> missing, misshapen, unexpected;
  std::set<std::string> known;
  for (const TensorSpec& spec : expected) {
    known.insert(spec.name);
    const auto it = found.find(spec.name);
    if (it == found.end()) {
      missing.push_back(spec.name);
    } else if (it->second.shape != spec.shape) {
      misshapen.push_back(spec.name + " " + shape_text(it->second.shape) + " instead of " +
                          shape_text(spec.shape));
    }
  }
  for (const auto& [name, tensor] : found) {
    if (known.count(name) == 0) unexpected.push_back(name);
  }
  if (missing.empty() && misshapen.empty() && unexpected.empty()) return;
  std::string text = file + ": the tensors do not fit a DiT;";
  if (!missing.empty()) text += " missing: " + list_some(missing) + ";";
  if (!unexpected.empty()) text += " unexpected: " + list_some(unexpected) + ";";
  if (!misshapen.empty()) text += " wrong shape: " + list_some(misshapen) + ";";
  throw DataError(text + " give a class-conditional DiT in official or diffusers layout");
}

}  // namespace ditar
