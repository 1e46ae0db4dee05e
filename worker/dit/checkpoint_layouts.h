// The two readers behind Checkpoint::open. Stateless; thread-safe.
#pragma once

#include "checkpoint.h"

namespace ditar {

/// One .safetensors file with the official names. Sizes are inferred from the tensors; the metadata
/// may give "heads", and "height" and "width" of a rectangular input.
class OfficialLayout {
 public:
  static Checkpoint open(const std::filesystem::path& file);
};

/// config.json and one or several .safetensors files; to_q, to_k and to_v become qkv, and the
/// copies of the embedders in every block become one where they are bit-identical.
class DiffusersLayout {
 public:
  static Checkpoint open(const std::filesystem::path& folder);
};

}  // namespace ditar
