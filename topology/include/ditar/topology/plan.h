// A plan: the degrees of each split, and its one-line spelling. Value type; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ditar {

enum class SequenceKind : std::uint8_t { kUlysses, kRing };

/// Product of degrees = ranks. data: images; cfg: conditional and unconditional branch; tensor:
/// heads and MLP columns; sequence: tokens; pipeline: layers.
struct Plan {
  int data = 1, cfg = 1, tensor = 1, sequence = 1, pipeline = 1;
  SequenceKind sequence_kind = SequenceKind::kUlysses;  ///< kUlysses where sequence is 1

  int ranks() const noexcept { return data * cfg * tensor * sequence * pipeline; }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// "single", or factors above 1 joined by commas: "cfg=2", "data=2,tensor=2", "ring=2".
std::string format_plan(const Plan& plan);

/// Reads what format_plan writes; factors may come in any order and may be 1. Factors: data, cfg,
/// tensor, ulysses or ring (the two kinds of sequence split), pipeline.
/// @throws InvalidArgument naming the factor at fault and the ones there are.
Plan parse_plan(std::string_view text);

}  // namespace ditar
