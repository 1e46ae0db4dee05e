#include "tables.h"

#include "cost_model.h"
#include "ditar/config/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

namespace ditar::tables {
namespace {

constexpr int kSmCount = 80;               // RTX A5500
constexpr double kBoostHz = 1.665e9;       // data sheet
constexpr double kBytesPerSecond = 768e9;  // data sheet
constexpr double kFlopPerClockSm = 1024;   // FP16/BF16, FP32 accumulate, dense
constexpr double kPeak = kSmCount * kFlopPerClockSm * kBoostHz;

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

std::string head(const std::vector<std::string>& cells) {
  std::string out = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) out += "---|";
  return out + "\n";
}

std::string dit_shapes() {
  std::string out = head({"model", "depth", "D", "heads", "head_dim", "parameters",
                          "of which adaLN", "GMAC 256 px p=2", "p=4", "p=8", "GMAC 512 px p=2"});
  const std::array<std::array<int, 3>, 4> sizes = {
      {{12, 384, 6}, {12, 768, 12}, {24, 1024, 16}, {28, 1152, 16}}};
  const char* names[] = {"S", "B", "L", "XL"};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    DitShape shape;
    shape.depth = sizes[i][0];
    shape.hidden = sizes[i][1];
    shape.heads = sizes[i][2];
    const double count = static_cast<double>(parameters(shape));
    std::vector<std::string> cells = {
        names[i],
        std::to_string(shape.depth),
        std::to_string(shape.hidden),
        std::to_string(shape.heads),
        std::to_string(shape.hidden / shape.heads),
        fixed(count / 1e6, 1) + " M",
        fixed(100.0 * static_cast<double>(adaln_parameters(shape)) / count, 0) + " %"};
    for (int patch : {2, 4, 8}) {
      shape.patch = patch;
      cells.push_back(fixed(forward_cost(shape, 1).total() / 2e9, 2));
    }
    shape.patch = 2;
    shape.image_px = 512;
    cells.push_back(fixed(forward_cost(shape, 1).total() / 2e9, 2));
    out += row(cells);
  }
  return out;
}

std::string step_budget() {
  std::string out =
      head({"image", "images (guidance doubles)", "M", "GFLOP per step", "attention share",
            "floor at 136.4 TFLOP/s", "weights without adaLN at 768 GB/s", "adaLN re-read"});
  for (int px : {256, 512, 1024}) {
    for (int images : {1, 8, 32}) {
      const DitShape shape = xl2(px);
      const ForwardCost cost = forward_cost(shape, 2 * images);
      const double used = cost.linear_flop + cost.attention_flop;
      const double adaln = 2.0 * static_cast<double>(adaln_parameters(shape));
      const double rest = 2.0 * static_cast<double>(parameters(shape)) - adaln;
      out +=
          row({std::to_string(px) + " px", std::to_string(images),
               std::to_string(2 * images * shape.tokens()), fixed(used / 1e9, 0),
               fixed(100 * cost.attention_flop / used, 1) + " %",
               fixed(1e3 * used / kPeak, 2) + " ms", fixed(1e3 * rest / kBytesPerSecond, 2) + " ms",
               fixed(1e3 * adaln / kBytesPerSecond, 2) + " ms"});
    }
  }
  return out;
}

std::string block_gemm_table() {
  std::string out = head(
      {"GEMM", "M", "N", "K", "GFLOP", "MB moved once (FP16)", "FLOP per byte", "wall at boost"});
  for (int samples : {1, 2, 16}) {
    for (const Gemm& gemm : block_gemms(xl2(256), samples)) {
      const double intensity = gemm.flop() / gemm.bytes(2);
      out += row({gemm.name, std::to_string(gemm.m), std::to_string(gemm.n), std::to_string(gemm.k),
                  fixed(gemm.flop() / 1e9, 2), fixed(gemm.bytes(2) / 1e6, 2), fixed(intensity, 0),
                  intensity > kPeak / kBytesPerSecond ? "compute" : "memory"});
    }
  }
  return out;
}

std::string wave_table() {
  struct Tile {
    int m, n, split;
  };
  const std::vector<Tile> tiles = {{128, 128, 1}, {128, 192, 1}, {128, 96, 1},
                                   {128, 64, 1},  {64, 128, 1},  {64, 96, 1},
                                   {64, 64, 1},   {128, 128, 2}, {128, 128, 4}};
  std::string out =
      head({"M", "GEMM", "tiles of 128×128", "share used", "best of the list", "share used"});
  for (int m : {256, 512, 1024, 2048, 4096, 16384}) {
    for (const Gemm& gemm : block_gemms(xl2(256), m / 256)) {
      const auto use = [&](const Tile& tile) {
        return wave_utilisation(gemm.m, gemm.n, tile.m, tile.n, kSmCount, tile.split);
      };
      const auto best =
          *std::max_element(tiles.begin(), tiles.end(),
                            [&](const Tile& a, const Tile& b) { return use(a) < use(b) - 1e-9; });
      const std::int64_t count = (gemm.m + 127) / 128 * ((gemm.n + 127) / 128);
      std::string name = std::to_string(best.m) + "×" + std::to_string(best.n);
      if (best.split > 1) name += " split-K " + std::to_string(best.split);
      out += row({std::to_string(m), gemm.name, std::to_string(count), fixed(use(tiles[0]), 2),
                  name, fixed(use(best), 2)});
    }
  }
  return out;
}

std::string occupancy_table() {
  struct Kernel {
    const char* name;
    int threads, registers, shared_kb;
  };
  const std::vector<Kernel> kernels = {
      {"attention d64, 128×128, 4 warps", 128, 255, 48},
      {"attention d96, 128×64, 4 warps", 128, 255, 48},
      {"attention d72, 64×64 double-buffered K and V, 4 warps", 128, 168, 36},
      {"attention d128, 128×32, 4 warps", 128, 255, 48},
      {"attention d128, 128×64, 4 warps", 128, 255, 64},
      {"attention d256, 64×64, 4 warps", 128, 255, 96},
      {"GEMM 128×128×32, 3 stages, 4 warps, 240 registers", 128, 240, 48},
      {"GEMM 128×128×32, 5 stages, 8 warps", 256, 128, 80},
      {"GEMM 128×128×64, 3 stages, 8 warps", 256, 128, 96},
      {"GEMM 128×256×32, 3 stages, 8 warps", 256, 255, 72},
      {"GEMM 64×128×64, 4 stages, 4 warps", 128, 168, 96},
      {"GEMM 256×128×64, 3 stages (A100 tile)", 256, 255, 144},
      {"row kernel, 1024 threads, 32 registers", 1024, 32, 0},
      {"row kernel, 256 threads, 40 registers", 256, 40, 0},
      {"row kernel, 32 threads, 40 registers", 32, 40, 0}};
  std::string out = head({"kernel", "threads", "registers", "shared KB", "blocks per SM sm_86",
                          "warps of 48", "blocks per SM sm_80"});
  for (const Kernel& kernel : kernels) {
    const int here =
        blocks_per_sm(sm_86(), kernel.threads, kernel.registers, kernel.shared_kb * 1024);
    const int there =
        blocks_per_sm(sm_80(), kernel.threads, kernel.registers, kernel.shared_kb * 1024);
    out +=
        row({kernel.name, std::to_string(kernel.threads), std::to_string(kernel.registers),
             std::to_string(kernel.shared_kb), here == 0 ? "0: launch fails" : std::to_string(here),
             std::to_string(here * kernel.threads / 32), std::to_string(there)});
  }
  return out;
}

std::string communication_table() {
  std::string out =
      head({"job (FP16)", "compute per block at 80 TFLOP/s", "tensor, MB per GPU and block",
            "Ulysses", "ring", "pipeline, MB per step", "guidance split, KB per step"});
  struct Job {
    int px, samples;
  };
  for (const Job job : {Job{256, 1}, Job{256, 2}, Job{512, 2}, Job{1024, 1}, Job{1024, 2}}) {
    const DitShape shape = xl2(job.px);
    const SplitBytes bytes = split_bytes(shape, job.samples, 2);
    const ForwardCost cost = forward_cost(shape, job.samples);
    const double block = (cost.linear_flop + cost.attention_flop) / shape.depth;
    out += row({"XL/2 " + std::to_string(job.px) + " px, " + std::to_string(job.samples) +
                    (job.samples == 1 ? " sample" : " samples"),
                fixed(1e3 * block / 80e12, 3) + " ms", fixed(bytes.tensor / 1e6, 2),
                fixed(bytes.ulysses / 1e6, 2), fixed(bytes.ring / 1e6, 2),
                fixed(bytes.pipeline_per_step / 1e6, 2),
                job.samples == 1 ? "–" : fixed(bytes.cfg_per_step / 1024, 0)});
  }
  return out;
}

// Speed-up of one block on two cards by T = compute/2 + calls * alpha + bytes / bandwidth.
std::string split_speedup() {
  struct Link {
    const char* name;
    double alpha, bandwidth;
  };
  const std::vector<Link> links = {{"NVLink ×4", 7e-6, 52e9},
                                   {"PCIe 4.0 x16 peer", 8e-6, 24e9},
                                   {"through host memory", 18e-6, 9e9}};
  std::string out = head(
      {"job (FP16)", "link (assumed α, bandwidth)", "tensor", "Ulysses", "ring, not overlapped"});
  for (const auto& [px, samples] :
       std::vector<std::pair<int, int>>{{256, 1}, {256, 2}, {512, 2}, {1024, 1}}) {
    const DitShape shape = xl2(px);
    const ForwardCost cost = forward_cost(shape, samples);
    const double block = (cost.linear_flop + cost.attention_flop) / shape.depth / 80e12;
    const SplitBytes bytes = split_bytes(shape, samples, 2);
    for (const Link& link : links) {
      const auto gain = [&](double calls, double sent) {
        return fixed(block / (block / 2 + calls * link.alpha + sent / link.bandwidth), 2);
      };
      out += row({"XL/2 " + std::to_string(px) + " px, " + std::to_string(samples),
                  std::string(link.name) + " (" + fixed(link.alpha * 1e6, 0) + " µs, " +
                      fixed(link.bandwidth / 1e9, 0) + " GB/s)",
                  gain(4, bytes.tensor), gain(2, bytes.ulysses), gain(1, bytes.ring)});
    }
  }
  return out;
}

std::string adaln_table() {
  std::string out = head({"steps", "distinct labels with null", "rows of the GEMM",
                          "table, MB (FP16)", "weights read inside the loop, GB", "once, GB"});
  const DitShape shape = xl2(256);
  const double weights = 2.0 * static_cast<double>(adaln_parameters(shape));
  for (const auto& [steps, labels] :
       std::vector<std::pair<int, int>>{{10, 2}, {20, 2}, {50, 2}, {50, 9}, {250, 2}}) {
    const double rows = static_cast<double>(steps) * labels;
    out += row({std::to_string(steps), std::to_string(labels), fixed(rows, 0),
                fixed(rows * shape.depth * 6 * shape.hidden * 2 / 1e6, 0),
                fixed(weights * steps / 1e9, 1), fixed(weights / 1e9, 2)});
  }
  return out;
}

std::string vae_table() {
  std::string out = head({"image", "decode, GFLOP", "XL/2 step with guidance, GFLOP",
                          "decode in steps", "share of a 20-step job", "of a 50-step job"});
  for (int px : {256, 512, 1024}) {
    const ForwardCost cost = forward_cost(xl2(px), 2);
    const double step = cost.linear_flop + cost.attention_flop;
    const double decode = vae_decode_flop(px);
    out += row({std::to_string(px) + " px", fixed(decode / 1e9, 0), fixed(step / 1e9, 0),
                fixed(decode / step, 2), fixed(100 * decode / (decode + 20 * step), 1) + " %",
                fixed(100 * decode / (decode + 50 * step), 1) + " %"});
  }
  return out;
}

std::string roofline_table() {
  std::string out = head({"SM clock", "FP16 dense", "TF32", "INT8", "ridge FP16", "ridge INT8"});
  for (double mhz : {1080.0, 1200.0, 1350.0, 1500.0, 1665.0}) {
    const double peak = kSmCount * kFlopPerClockSm * mhz * 1e6;
    out += row({fixed(mhz, 0) + " MHz", fixed(peak / 1e12, 1) + " TFLOP/s",
                fixed(peak / 2e12, 1) + " TFLOP/s", fixed(2 * peak / 1e12, 1) + " TOP/s",
                fixed(peak / kBytesPerSecond, 0) + " FLOP/B",
                fixed(2 * peak / kBytesPerSecond, 0) + " OP/B"});
  }
  return out;
}

std::string padding_table() {
  std::string out = head({"head_dim", "FlashAttention-2 bucket", "extra work", "k16 steps padded",
                          "exact with k16 and k8", "n8 tiles of PV"});
  for (int dim : {32, 40, 64, 72, 80, 96, 128}) {
    int bucket = 0;
    for (int size : {32, 64, 96, 128}) {
      if (bucket == 0 && dim <= size) bucket = size;
    }
    const int k16 = dim / 16;
    out += row({std::to_string(dim), std::to_string(bucket),
                fixed(100.0 * bucket / dim - 100.0, 0) + " %", std::to_string((dim + 15) / 16),
                std::to_string(k16) + "×k16" + (dim % 16 ? " + k8" : ""), std::to_string(dim / 8)});
  }
  return out;
}

std::string memory_table() {
  std::string out = head({"XL/2 job", "weights FP16", "without adaLN", "one activation B·N·D",
                          "QKV", "MLP hidden", "scores if materialised"});
  for (const auto& [px, samples] : std::vector<std::pair<int, int>>{
           {256, 2}, {256, 64}, {512, 2}, {512, 64}, {1024, 2}, {1024, 16}}) {
    const DitShape shape = xl2(px);
    const double tokens = static_cast<double>(samples) * shape.tokens();
    const double activation = tokens * shape.hidden * 2 / 1e6;
    const double all = 2.0 * static_cast<double>(parameters(shape)) / 1e6;
    const double adaln = 2.0 * static_cast<double>(adaln_parameters(shape)) / 1e6;
    out += row({std::to_string(px) + " px, " + std::to_string(samples) + " samples",
                fixed(all, 0) + " MB", fixed(all - adaln, 0) + " MB", fixed(activation, 1) + " MB",
                fixed(3 * activation, 1) + " MB", fixed(4 * activation, 1) + " MB",
                fixed(tokens * shape.tokens() * shape.heads * 2 / 1e6, 1) + " MB"});
  }
  return out;
}

const std::map<std::string, std::function<std::string()>, std::less<>>& makers() {
  static const std::map<std::string, std::function<std::string()>, std::less<>> kMakers = {
      {"adaln-hoist", adaln_table},      {"attention-padding", padding_table},
      {"block-gemms", block_gemm_table}, {"communication", communication_table},
      {"dit-shapes", dit_shapes},        {"memory", memory_table},
      {"occupancy", occupancy_table},    {"roofline", roofline_table},
      {"split-speedup", split_speedup},  {"step-budget", step_budget},
      {"vae-decode", vae_table},         {"wave-quantisation", wave_table}};
  return kMakers;
}

}  // namespace

std::vector<std::string> table_names() {
  std::vector<std::string> out;
  for (const auto& [name, maker] : makers()) out.push_back(name);
  return out;
}

std::string make_table(std::string_view name) {
  const auto it = makers().find(name);
  if (it == makers().end()) {
    throw InvalidArgument("unknown table '" + std::string(name) +
                          "'; handbook-tables --list names them");
  }
  return it->second();
}

}  // namespace ditar::tables
