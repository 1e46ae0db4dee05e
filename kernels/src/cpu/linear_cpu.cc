// Linear on the CPU. FP32: panels of 16 output features through the register tile of the running
// instruction set, compute bound from K = 64. FP64, the reference: panels of 8 through that set's
// FP64 tile, everything behind the product in plain code over libm.
// Both sum over k in order for every output, so a row's bits depend on that row alone.
#include "ops/linear_backend.h"
#include "parallel_for.h"
#include "reference_math.h"
#include "simd_kernels.h"

#include <algorithm>

namespace ditar {
namespace {

/// Copies weight (N, K) to panels of (K, width), zero-padded, and bias to whole panels.
template <typename T>
void pack(const T* weight, const T* bias, std::int64_t n, std::int64_t k, std::int64_t width,
          T* packed, T* packed_bias) {
  for (std::int64_t at = 0; at < (n + width - 1) / width * width; ++at) {
    T* to = packed + at / width * width * k + at % width;
    for (std::int64_t i = 0; i < k; ++i) to[i * width] = at < n ? weight[at * k + i] : T{0};
    packed_bias[at] = at < n && bias != nullptr ? bias[at] : T{0};
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

class LinearF32 final : public Linear::Packed {
 public:
  LinearF32(ConstTensorView weight, ConstTensorView bias)
      : Packed(weight),
        panels_(Shape{cpu::panels_of(out), in, cpu::kPanel}, DType::kF32, Device{}),
        bias_(Shape{cpu::panels_of(out) * cpu::kPanel}, DType::kF32, Device{}) {
    pack(weight.as<float>(), bias.empty() ? nullptr : bias.as<float>(), out, in, cpu::kPanel,
         panels_.as<float>(), bias_.as<float>());
  }

  void run(ConstTensorView x, TensorView y, const LinearEpilogue& epilogue, TensorView,
           StreamView) const override {
    cpu::GemmArgs args;
    args.x = x.as<float>();
    args.x_stride = x.stride(0);
    args.packed = panels_.as<float>();
    args.k = in;
    args.n = out;
    args.bias = bias_.as<float>();
    args.activation = static_cast<int>(epilogue.activation);
    args.y = y.as<float>();
    args.y_stride = y.stride(0);
    if (!epilogue.gate.empty()) {
      args.gate = epilogue.gate.as<float>();
      args.gate_stride = epilogue.gate.stride(0);
      args.rows_per_image = epilogue.rows_per_image;
    }
    if (!epilogue.residual.empty()) {
      args.residual = epilogue.residual.as<float>();
      args.residual_stride = epilogue.residual.stride(0);
    }
    const cpu::SimdKernels& simd = cpu::simd();
    const std::int64_t rows = x.size(0);
    for_rows_and_panels(rows, cpu::panels_of(out), rows * out * in / 8, cpu::kMaxTileRows,
                        [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
                            std::int64_t end) { simd.gemm(args, row_begin, row_end, begin, end); });
  }
  std::size_t packed_bytes() const noexcept override {
    return panels_.view().size_bytes() + bias_.view().size_bytes();
  }

 private:
  Tensor panels_;
  Tensor bias_;
};

class LinearF64 final : public Linear::Packed {
 public:
  static constexpr std::int64_t kWidth = cpu::kPanelF64;
  LinearF64(ConstTensorView weight, ConstTensorView bias)
      : Packed(weight),
        panels_(Shape{(out + kWidth - 1) / kWidth, in, kWidth}, DType::kF64, Device{}),
        bias_(Shape{(out + kWidth - 1) / kWidth * kWidth}, DType::kF64, Device{}) {
    pack(weight.as<double>(), bias.empty() ? nullptr : bias.as<double>(), out, in, kWidth,
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
