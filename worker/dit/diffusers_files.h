// Which files of a diffusers model folder hold the weights. Stateless; thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

struct DiffusersFiles {
  std::filesystem::path folder;  ///< the one with config.json
  std::vector<std::filesystem::path> weights;
  std::vector<std::string> notices;
};

/// Prefers plain weights over the fp16 variant, and one file over shards. The index of a sharded
/// variant is found under both spellings in use. @throws IoError or DataError naming what is
/// missing (config.json, weights, a shard that the index names, only .bin weights).
DiffusersFiles find_diffusers_files(const std::filesystem::path& path);

}  // namespace ditar
