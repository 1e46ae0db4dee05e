#include "ditar/config/error.h"
#include "ditar/worker/engine.h"

#include <array>
#include <utility>

namespace ditar {
namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Precision, 5> kPrecisions{{{Precision::kF64, "fp64"},
                                           {Precision::kF32, "fp32"},
                                           {Precision::kTf32, "tf32"},
                                           {Precision::kF16, "fp16"},
                                           {Precision::kBF16, "bf16"}}};
constexpr Names<Parity, 3> kParities{
    {{Parity::kAuto, "auto"}, {Parity::kOfficial, "official"}, {Parity::kDiffusers, "diffusers"}}};
constexpr Names<SamplerKind, 3> kSamplers{{{SamplerKind::kDdpm, "ddpm"},
                                           {SamplerKind::kDdim, "ddim"},
                                           {SamplerKind::kDpmSolverPlusPlus2M, "dpmpp2m"}}};

template <typename Enum, std::size_t N>
std::string_view name_of(const Names<Enum, N>& names, Enum value) noexcept {
  for (const auto& [item, name] : names) {
    if (item == value) return name;
  }
  return "unknown";
}

template <typename Enum, std::size_t N>
Enum value_of(const Names<Enum, N>& names, std::string_view text, std::string_view what) {
  std::string valid;
  for (const auto& [item, name] : names) {
    if (name == text) return item;
    valid += (valid.empty() ? "" : ", ") + std::string(name);
  }
  throw InvalidArgument(std::string(what) + " \"" + std::string(text) +
                        "\" is not known; give one of " + valid);
}

}  // namespace

std::string_view to_string(Precision precision) noexcept { return name_of(kPrecisions, precision); }
Precision parse_precision(std::string_view text) {
  return value_of(kPrecisions, text, "precision");
}
std::string_view to_string(Parity parity) noexcept { return name_of(kParities, parity); }
Parity parse_parity(std::string_view text) { return value_of(kParities, text, "parity"); }
std::string_view to_string(SamplerKind kind) noexcept { return name_of(kSamplers, kind); }
SamplerKind parse_sampler(std::string_view text) { return value_of(kSamplers, text, "sampler"); }

}  // namespace ditar
