// Linear on the CPU. FP32: oneDNN's inner product over chunks of rows, compute bound, and what
// follows it in vector code while the chunk is in cache. FP64, the reference: panels of 8 output
// features through the running instruction set's FP64 tile, everything behind the product in plain
// code over libm. In both a row's bits depend on that row alone.
#include "linear_onednn.h"
#include "ops/linear_backend.h"
#include "parallel_for.h"
#include "reference_math.h"
#include "simd_kernels.h"

#include <algorithm>

namespace ditar {
namespace {

/// Copies weight (N, K) to panels of (K, 8), zero-padded, and bias to whole panels.
void pack(const double* weight, const double* bias, std::int64_t n, std::int64_t k, double* packed,
          double* packed_bias) {
  constexpr std::int64_t kWidth = cpu::kPanelF64;
  for (std::int64_t at = 0; at < cpu::panels_of_f64(n) * kWidth; ++at) {
    double* to = packed + at / kWidth * kWidth * k + at % kWidth;
    for (std::int64_t i = 0; i < k; ++i) to[i * kWidth] = at < n ? weight[at * k + i] : 0.0;
    packed_bias[at] = at < n && bias != nullptr ? bias[at] : 0.0;
  }
}

/// Cuts rows x panels over threads: by panels if that balances, else by rows.
template <typename Body>
void for_rows_and_panels(std::int64_t rows, std::int64_t panels, std::int64_t work,
                         std::int64_t row_step, const Body& body) {
  const std::int64_t threads = cpu_threads();
  const std::int64_t row_tiles = (rows + row_step - 1) / row_step;
  if (panels % threads == 0 || panels >= 8 * threads || row_tiles < threads) {
    cpu::parallel_for(panels, work, [&](std::int64_t begin, std::int64_t end, int) {
      body(0, rows, begin, end);
    });
    return;
  }
  cpu::parallel_for(row_tiles, work, [&](std::int64_t begin, std::int64_t end, int) {
    body(begin * row_step, std::min(end * row_step, rows), 0, panels);
  });
}

/// Rows behind each other with nothing between.
bool is_dense(ConstTensorView view) { return view.stride(0) == view.size(1); }

class LinearF32 final : public Linear::Packed {
 public:
  LinearF32(ConstTensorView weight, ConstTensorView bias)
      : Packed(weight),
        product_(weight.as<float>(), bias.empty() ? nullptr : bias.as<float>(), out, in) {}

  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView,
           StreamView) const override {
    const std::int64_t rows = x.size(0);
    const std::int64_t quantum = product_.row_quantum();
    const std::int64_t tiles = (rows + quantum - 1) / quantum;
    cpu::parallel_for(tiles, rows * out * in / 8, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin * quantum; row < std::min(end * quantum, rows);
           row += cpu::OnednnProduct::kChunk) {
        const std::int64_t last = std::min({row + cpu::OnednnProduct::kChunk, end * quantum, rows});
        chunk(x.slice(row, last), y.slice(row, last), row, epilogue);
      }
    });
  }
  std::size_t packed_bytes() const noexcept override {
    return static_cast<std::size_t>(product_.packed_bytes());
  }

 private:
  /// Rows of one product, `first` being the number of the first within the whole.
  void chunk(ConstTensorView x, TensorView y, std::int64_t first,
             const LinearEpilogue& epilogue) const {
    const std::int64_t rows = x.size(0);
    const std::int64_t quantum = product_.row_quantum();
    const std::int64_t padded = (rows + quantum - 1) / quantum * quantum;
    const bool in_place = is_dense(y) && padded == rows && epilogue.residual.empty();
    float* result = in_place ? y.as<float>() : scratch(kResult, padded * out);
    product_.run(padded == rows && is_dense(x) ? x.as<float>() : gathered(x, padded), padded,
                 result);
    if (epilogue.activation != Activation::kNone) {
      cpu::simd().activate(result, static_cast<int>(epilogue.activation), result, rows * out);
    }
    if (in_place && epilogue.gate.empty()) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = first + row;
      const float* gate =
          epilogue.gate.empty()
              ? nullptr
              : epilogue.gate.as<float>() + at / epilogue.rows_per_image * epilogue.gate.stride(0);
      const float* residual =
          epilogue.residual.empty() ? nullptr : epilogue.residual.as<float>() + at * out;
      cpu::simd().gate_row(result + row * out, gate, residual, y.as<float>() + row * y.stride(0),
                           out);
    }
  }

  /// A dense copy of x, its rows filled up with zeros to `padded`.
  const float* gathered(ConstTensorView x, std::int64_t padded) const {
    float* to = scratch(kOperand, padded * in);
    for (std::int64_t row = 0; row < x.size(0); ++row) {
      std::copy_n(x.as<float>() + row * x.stride(0), in, to + row * in);
    }
    std::fill(to + x.size(0) * in, to + padded * in, 0.0F);
    return to;
  }

  enum Slot { kOperand = 1, kResult = 2 };
  static float* scratch(Slot slot, std::int64_t floats) {
    return static_cast<float*>(
        cpu::thread_scratch(slot, floats * static_cast<std::int64_t>(sizeof(float))));
  }

  cpu::OnednnProduct product_;
};

class LinearF64 final : public Linear::Packed {
 public:
  static constexpr std::int64_t kWidth = cpu::kPanelF64;
  LinearF64(ConstTensorView weight, ConstTensorView bias)
      : Packed(weight),
        panels_(Shape{cpu::panels_of_f64(out), in, kWidth}, DType::kF64, Device{}),
        bias_(Shape{cpu::panels_of_f64(out) * kWidth}, DType::kF64, Device{}) {
    pack(weight.as<double>(), bias.empty() ? nullptr : bias.as<double>(), out, in,
         panels_.as<double>(), bias_.as<double>());
  }

  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView,
           StreamView) const override {
    const std::int64_t rows = x.size(0);
    for_rows_and_panels(
        rows, panels_.shape()[0], rows * out * in / 4, cpu::kMaxTileRows,
        [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t begin, std::int64_t end) {
          for (std::int64_t panel = begin; panel < end; ++panel) {
            panel_rows(x, y, epilogue, row_begin, row_end, panel);
          }
        });
  }
  std::size_t packed_bytes() const noexcept override {
    return panels_.view().size_bytes() + bias_.view().size_bytes();
  }

 private:
  void panel_rows(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue,
                  std::int64_t row_begin, std::int64_t row_end, std::int64_t panel) const {
    const double* w = panels_.as<double>() + panel * in * kWidth;
    const cpu::SimdKernels& simd = cpu::simd();
    double sums[cpu::kMaxTileRows * kWidth];
    for (std::int64_t row = row_begin; row < row_end; row += cpu::kMaxTileRows) {
      const std::int64_t rows = std::min(cpu::kMaxTileRows, row_end - row);
      simd.tile_f64(x.as<double>() + row * x.stride(0), x.stride(0), rows, w, in, sums);
      for (std::int64_t r = 0; r < rows; ++r) {
        finish(sums + r * kWidth, y, epilogue, row + r, panel * kWidth);
      }
    }
  }

  void finish(const double* sum, TensorView y, const LinearEpilogue& epilogue, std::int64_t row,
              std::int64_t column) const {
    const double* bias = bias_.as<double>() + column;
    double* to = y.as<double>() + row * y.stride(0) + column;
    for (std::int64_t j = 0; j < std::min(kWidth, out - column); ++j) {
      double r = cpu::activate_reference(sum[j] + bias[j], epilogue.activation);
      if (!epilogue.gate.empty()) {
        const std::int64_t image = row / epilogue.rows_per_image;
        r *= epilogue.gate.as<double>()[image * epilogue.gate.stride(0) + column + j];
      }
      if (!epilogue.residual.empty()) {
        r += epilogue.residual.as<double>()[row * out + column + j];
      }
      to[j] = r;
    }
  }

  Tensor panels_;
  Tensor bias_;
};

}  // namespace

std::unique_ptr<Linear::Packed> Linear::Packed::make_cpu(ConstTensorView weight,
                                                         ConstTensorView bias) {
  if (weight.dtype() == DType::kF32) return std::make_unique<LinearF32>(weight, bias);
  return std::make_unique<LinearF64>(weight, bias);
}

}  // namespace ditar
