// How one request is divided over ranks: images (data) and guidance branches (CFG). Pure values.
#pragma once

#include <cstdint>
#include <string>

namespace ditar {

struct SplitPlan {
  int data = 1;  ///< groups that share the images out
  int cfg = 1;   ///< 2: in each group one rank computes the conditional branch, one the other
  int ranks() const noexcept { return data * cfg; }
};

/// "single", "data=2", "cfg=2" or "data=2,cfg=2". Empty: "single" for one rank, "data=N" for more.
/// @throws InvalidArgument with the numbers if the text is of no such form or does not multiply to
/// `ranks`.
SplitPlan parse_split(const std::string& text, int ranks);
std::string to_string(const SplitPlan& plan);

/// What rank `rank` of the plan does. Ranks of one data group stand side by side.
struct Shard {
  std::int64_t first_image = 0;
  std::int64_t images = 0;  ///< sizes differ by one at most, earlier groups have more
  bool conditional = true;
  bool unconditional = true;
};
/// @throws InvalidArgument if a group would have no image, or cfg=2 meets a request without
/// guidance.
Shard shard_of(const SplitPlan& plan, int rank, std::int64_t images, bool guided);

}  // namespace ditar
