#include "ceilings.h"

#include "ditar/kernels/ops/activation.h"
#include "ditar/kernels/ops/linear.h"

#include <algorithm>
#include <functional>

namespace ditar {
namespace {

constexpr double kPatienceMs = 150.0;
constexpr int kMostRuns = 20;

/// Milliseconds of the fastest run of `work`, the first left out.
double fastest_ms(const std::function<void()>& work, StreamView stream) {
  work();
  double fastest = 1e30, spent = 0.0;
  for (int run = 0; run < kMostRuns && (run < 3 || spent < kPatienceMs); ++run) {
    Event begin(stream.device(), true), end(stream.device(), true);
    begin.record(stream);
    work();
    end.record(stream);
    const double ms = end.elapsed_ms_since(begin);
    fastest = std::min(fastest, ms);
    spent += ms;
  }
  return fastest;
}

/// Small values of either sign in no order: zeros draw less power, and so clock higher, than data.
Tensor some_values(const Shape& shape, DType dtype, StreamView stream) {
  Tensor host(shape, DType::kF32, Device{});
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    state = state * 1664525U + 1013904223U;
    host.as<float>()[i] = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
  }
  Tensor wide(shape, DType::kF32, stream.device());
  Tensor values(shape, dtype, stream.device());
  copy(host, wide, stream);
  convert(wide, values, stream);
  stream.synchronize();
  return values;
}

double matmul_flops_per_s(DType dtype, bool allow_tf32, StreamView stream) {
  const bool on_host = stream.device().type == DeviceType::kCpu;
  const std::int64_t size = !on_host ? 8192 : dtype == DType::kF64 ? 512 : 1024;
  const Tensor x = some_values(Shape{size, size}, dtype, stream);
  const Linear weight(some_values(Shape{size, size}, dtype, stream), {}, stream, allow_tf32);
  Tensor y(Shape{size, size}, dtype, stream.device());
  Tensor workspace(Shape{static_cast<std::int64_t>(weight.workspace_bytes(size))}, DType::kU8,
                   stream.device());
  const double ms = fastest_ms([&] { weight.run(x, y, {}, workspace, stream); }, stream);
  stream.synchronize();
  return 2.0 * static_cast<double>(size * size * size) / (ms * 1e-3);
}

// The CPU's copy is a sum of two arrays into a third, since only ops use all threads.
double copy_bytes_per_s(StreamView stream) {
  const bool on_host = stream.device().type == DeviceType::kCpu;
  const Shape shape{std::int64_t{on_host ? 16 : 128} << 20};
  Tensor from(shape, DType::kF32, stream.device()), to(shape, DType::kF32, stream.device());
  fill_bytes(from.view().data(), from.view().device(), 0, from.view().size_bytes(), stream);
  fill_bytes(to.view().data(), to.view().device(), 0, to.view().size_bytes(), stream);
  const double bytes = static_cast<double>(from.view().size_bytes());
  if (!on_host) return 2.0 * bytes / (fastest_ms([&] { copy(from, to, stream); }, stream) * 1e-3);
  return 3.0 * bytes / (fastest_ms([&] { add(from, to, to, stream); }, stream) * 1e-3);
}

}  // namespace

Ceilings measure_ceilings(DType dtype, bool allow_tf32, StreamView stream) {
  return {matmul_flops_per_s(dtype, allow_tf32, stream), copy_bytes_per_s(stream)};
}

}  // namespace ditar
