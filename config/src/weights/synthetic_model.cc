#include "ditar/config/synthetic_model.h"

#include "ditar/config/error.h"
#include "ditar/config/philox.h"
#include "ditar/config/sha256.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <thread>

namespace ditar {
namespace {

using Half = std::uint16_t;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

// The sum of four bytes less its mean: nearly normal, whole, with this deviation.
constexpr std::int32_t kMean = 510;
constexpr std::size_t kSums = 2 * kMean + 1;
constexpr double kDeviation = 147.80054127;  // sqrt(4 (256^2 - 1) / 12)

constexpr double kBias = 0.02, kModulation = 0.7, kLabel = 0.5;
// The last layer: share of the latents in the predicted noise, and gain of all else.
constexpr std::int32_t kFollow = 22, kOther = 1;
constexpr double kFollowUnit = 0.1;

/// To nearest, ties to even; every value here is far below the largest half.
Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const Half sign = static_cast<Half>((bits >> 16) & 0x8000U);
  const std::int32_t exponent = static_cast<std::int32_t>((bits >> 23) & 0xffU) - 127 + 15;
  std::uint32_t mantissa = (bits & 0x7fffffU) | 0x800000U;
  if ((bits & 0x7fffffffU) == 0 || exponent < -10) return sign;
  const int shift = exponent >= 1 ? 13 : 14 - exponent;
  const std::uint32_t kept = mantissa >> shift, rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t middle = 1U << (shift - 1);
  const bool up = rest > middle || (rest == middle && (kept & 1U) != 0);
  const std::uint32_t base =
      exponent >= 1 ? (static_cast<std::uint32_t>(exponent) << 10) + (kept - 0x400U) : kept;
  return static_cast<Half>(sign | (base + (up ? 1U : 0U)));
}

/// How a tensor's values are made.
enum class Kind { kRandom, kNoiseOutput };

struct Plan {
  std::string name;
  std::vector<std::int64_t> shape;
  double deviation = 0.0;
  Kind kind = Kind::kRandom;
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t size : shape) product *= size;
    return product;
  }
};

double gain_over(std::int64_t inputs) { return 1.0 / std::sqrt(static_cast<double>(inputs)); }

void add_linear(std::vector<Plan>& all, const std::string& name, std::int64_t rows,
                std::int64_t columns, double gain = 1.0) {
  all.push_back({name + ".weight", {rows, columns}, gain * gain_over(columns), Kind::kRandom});
  all.push_back({name + ".bias", {rows}, kBias, Kind::kRandom});
}

/// Every tensor in the order of the file; the patch embedding is the first.
std::vector<Plan> tensors_of(const SyntheticModel& m) {
  const std::int64_t h = m.hidden, values = m.channels * m.patch * m.patch;
  std::vector<Plan> all;
  all.push_back({"x_embedder.proj.weight",
                 {h, m.channels, m.patch, m.patch},
                 gain_over(values),
                 Kind::kRandom});
  all.push_back({"x_embedder.proj.bias", {h}, kBias, Kind::kRandom});
  add_linear(all, "t_embedder.mlp.0", h, 256);
  add_linear(all, "t_embedder.mlp.2", h, h);
  all.push_back({"y_embedder.embedding_table.weight", {m.classes + 1, h}, kLabel, Kind::kRandom});
  for (std::int64_t block = 0; block < m.depth; ++block) {
    const std::string prefix = "blocks." + std::to_string(block) + ".";
    add_linear(all, prefix + "attn.qkv", 3 * h, h);
    add_linear(all, prefix + "attn.proj", h, h);
    add_linear(all, prefix + "mlp.fc1", 4 * h, h);
    add_linear(all, prefix + "mlp.fc2", h, 4 * h);
    add_linear(all, prefix + "adaLN_modulation.1", 6 * h, h, kModulation);
  }
  add_linear(all, "final_layer.adaLN_modulation.1", 2 * h, h, kModulation);
  all.push_back({"final_layer.linear.weight", {2 * values, h}, 0.0, Kind::kNoiseOutput});
  all.push_back({"final_layer.linear.bias", {2 * values}, kBias, Kind::kRandom});
  return all;
}

class Maker {
 public:
  explicit Maker(const SyntheticModel& model) : model_(model) {}

  /// Elements `first` .. `first + out.size() - 1` of tensor `index`; `first` is a multiple of 4.
  void fill(const Plan& plan, std::uint32_t index, std::int64_t first, std::span<Half> out) const {
    if (plan.kind == Kind::kNoiseOutput) return fill_noise_output(index, first, out);
    std::array<Half, kSums> table{};
    const auto scale = static_cast<float>(plan.deviation / kDeviation);
    for (std::size_t i = 0; i < kSums; ++i) {
      table[i] = to_half(static_cast<float>(static_cast<std::int32_t>(i) - kMean) * scale);
    }
    for (std::size_t at = 0; at < out.size(); at += 4) {
      const auto four = sums(index, static_cast<std::uint64_t>(first) + at);
      for (std::size_t j = 0; j < 4 && at + j < out.size(); ++j) {
        out[at + j] = table[static_cast<std::size_t>(four[j])];
      }
    }
  }

 private:
  /// Four sums of bytes, for elements `element` .. `element + 3`.
  std::array<std::int32_t, 4> sums(std::uint32_t tensor, std::uint64_t element) const {
    const std::uint64_t block = element / 4;
    const PhiloxBlock bits = philox4x32_10(
        PhiloxBlock{{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     tensor, 0x73796e74U}},
        static_cast<std::uint32_t>(model_.seed), static_cast<std::uint32_t>(model_.seed >> 32));
    std::array<std::int32_t, 4> out{};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t word = bits.v[i];
      out[i] = static_cast<std::int32_t>((word & 0xffU) + ((word >> 8) & 0xffU) +
                                         ((word >> 16) & 0xffU) + (word >> 24));
    }
    return out;
  }

  std::int32_t value(std::uint32_t tensor, std::int64_t element) const {
    const auto at = static_cast<std::uint64_t>(element);
    return sums(tensor, at & ~std::uint64_t{3})[at & 3U] - kMean;
  }

  // Row (p, q, channel) of the noise is the patch embedding's column of that value, which reads the
  // latents back from the stream, with something of everything else; rows of the variance are
  // small.
  void fill_noise_output(std::uint32_t index, std::int64_t first, std::span<Half> out) const {
    const std::int64_t p = model_.patch, c = model_.channels, h = model_.hidden;
    const auto unit =
        static_cast<float>(kFollowUnit * gain_over(c * p * p) * static_cast<double>(c * p * p) /
                           (static_cast<double>(h) * kDeviation));
    const auto small = static_cast<float>(0.1 * gain_over(h) / kDeviation);
    for (std::size_t at = 0; at < out.size(); ++at) {
      const std::int64_t element = first + static_cast<std::int64_t>(at);
      const std::int64_t row = element / h, column = element % h;
      const std::int64_t channel = row % (2 * c), place = row / (2 * c);
      const std::int32_t other = value(index, element);
      if (channel >= c) {
        out[at] = to_half(static_cast<float>(other) * small);
      } else {
        const std::int32_t embedding = value(0, (column * c + channel) * p * p + place);
        out[at] = to_half(static_cast<float>(kFollow * embedding + kOther * other) * unit);
      }
    }
  }

  const SyntheticModel& model_;
};

std::string header_of(const SyntheticModel& m, const std::vector<Plan>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"heads", std::to_string(m.heads)},
                            {"height", std::to_string(m.height)},
                            {"width", std::to_string(m.width)},
                            {"seed", std::to_string(m.seed)}};
  std::int64_t offset = 0;
  for (const Plan& plan : tensors) {
    const std::int64_t end = offset + plan.count() * static_cast<std::int64_t>(sizeof(Half));
    header[plan.name] = {{"dtype", "F16"}, {"shape", plan.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

void fill_together(const Maker& maker, const Plan& plan, std::uint32_t index, std::span<Half> out,
                   int threads) {
  const auto share = (out.size() / static_cast<std::size_t>(threads) + 4) & ~std::size_t{3};
  std::vector<std::jthread> crew;
  for (std::size_t first = 0; first < out.size(); first += share) {
    const std::span<Half> part = out.subspan(first, std::min(share, out.size() - first));
    crew.emplace_back([&maker, &plan, index, first, part] {
      maker.fill(plan, index, static_cast<std::int64_t>(first), part);
    });
  }
}

void check(const SyntheticModel& m) {
  require(m.hidden >= 4 && m.depth >= 1 && m.heads >= 1 && m.patch >= 1 && m.channels >= 1 &&
              m.classes >= 1 && m.hidden % m.heads == 0 && m.hidden % 4 == 0 &&
              m.height % m.patch == 0 && m.width % m.patch == 0 && m.height > 0 && m.width > 0,
          "synthetic model: heads must divide the hidden size, the patch the latents' sizes, and 4 "
          "the hidden size");
}

}  // namespace

const std::vector<std::string>& synthetic_presets() {
  static const std::vector<std::string> names = {"dit-xl2-256", "dit-xl2-512"};
  return names;
}

SyntheticModel synthetic_preset(std::string_view name) {
  SyntheticModel model;
  if (name == "dit-xl2-512") model.height = model.width = 64;
  if (name == "dit-xl2-256" || name == "dit-xl2-512") return model;
  throw InvalidArgument("there is no synthetic model \"" + std::string(name) +
                        "\"; give dit-xl2-256 or dit-xl2-512");
}

std::string write_synthetic_model(const SyntheticModel& model, const std::filesystem::path& path,
                                  int threads) {
  check(model);
  const int crew =
      threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::vector<Plan> tensors = tensors_of(model);
  const Maker maker(model);
  const std::string header = header_of(model, tensors);
  std::filesystem::path part = path;
  part += ".part-" + std::to_string(::getpid());
  Sha256 hasher;
  hasher.update(header);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  std::vector<Half> values;
  for (std::uint32_t index = 0; index < tensors.size() && out; ++index) {
    values.resize(static_cast<std::size_t>(tensors[index].count()));
    fill_together(maker, tensors[index], index, values, crew);
    const auto bytes = std::as_bytes(std::span<const Half>(values));
    std::jthread hash([&hasher, bytes] { hasher.update(bytes); });
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  out.close();
  std::error_code failure;
  if (out) std::filesystem::rename(part, path, failure);
  if (!out || failure) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw IoError(path.string() + ": cannot write; check the folder and the free space");
  }
  return hasher.hex();
}

}  // namespace ditar
