#include "ditar/kernels/ops/embedding.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {

bool supports_embedding(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void timestep_embedding(std::span<const double> timesteps, TimestepFrequencies frequencies,
                        TensorView out, StreamView stream, double max_period) {
  constexpr const char* kOp = "timestep_embedding";
  check::supported(supports_embedding(out.device(), out.dtype()), kOp, out.device(), out.dtype());
  check::rank(kOp, "out", out, 2);
  check::shape(kOp, "out", out, Shape{static_cast<std::int64_t>(timesteps.size()), out.size(1)});
  check::dense(kOp, "out", out);
  check::stream(kOp, stream, out.device());
  if (out.size(1) % 2 != 0 || out.size(1) < 4) {
    check::fail(kOp, "out",
                "has size " + std::to_string(out.size(1)) +
                    " on axis 1; the width must be even and 4 or more");
  }
  if (!(max_period > 0.0)) check::fail(kOp, "max_period", "must be above 0");
  const double shift = frequencies == TimestepFrequencies::kDiffusers ? 1.0 : 0.0;
  if (check::is_cuda(out)) {
    return cuda::timestep_embedding(timesteps, shift, out, max_period, stream);
  }
  cpu::timestep_embedding(timesteps, shift, out, max_period);
}

void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices, TensorView out,
                      StreamView stream) {
  constexpr const char* kOp = "embedding_lookup";
  check::supported(supports_embedding(table.device(), table.dtype()), kOp, table.device(),
                   table.dtype());
  check::rank(kOp, "table", table, 2);
  check::dense(kOp, "table", table);
  check::dense_like(kOp, "out", out,
                    Shape{static_cast<std::int64_t>(indices.size()), table.size(1)}, table.dtype(),
                    table.device());
  check::stream(kOp, stream, table.device());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= table.size(0)) {
      check::fail(kOp, "indices",
                  "has " + std::to_string(indices[i]) + " at position " + std::to_string(i) +
                      ", outside 0.." + std::to_string(table.size(0) - 1));
    }
  }
  if (check::is_cuda(table)) return cuda::embedding_lookup(table, indices, out, stream);
  cpu::embedding_lookup(table, indices, out);
}

void add_rows(ConstTensorView rows, TensorView x, StreamView stream) {
  constexpr const char* kOp = "add_rows";
  check::supported(supports_embedding(x.device(), x.dtype()), kOp, x.device(), x.dtype());
  check::rank(kOp, "x", x, 3);
  check::dense(kOp, "x", x);
  check::dense_like(kOp, "rows", rows, Shape{x.size(1), x.size(2)}, x.dtype(), x.device());
  check::stream(kOp, stream, x.device());
  if (check::is_cuda(x)) return cuda::add_rows(rows, x, stream);
  cpu::add_rows(rows, x);
}

}  // namespace ditar
