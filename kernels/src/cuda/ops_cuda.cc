// The CUDA ops of cuda_ops.h: views become raw launch arguments. Linear is in linear_cuda.cc.
#include "backend_hooks.h"
#include "cuda_check.h"
#include "launch.h"
#include "ops/cuda_ops.h"

#include <mutex>

namespace ditar {
namespace {

cudaStream_t native(StreamView stream) { return static_cast<cudaStream_t>(stream.native()); }

/// Multiprocessors of the current device, read once per device.
int multiprocessors(int device) {
  static std::mutex mutex;
  static int known[64] = {};
  const std::scoped_lock lock(mutex);
  int& count = known[device % 64];
  if (count == 0) {
    cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                "cudaDeviceGetAttribute");
  }
  return count;
}

std::int64_t plane(ConstTensorView image) { return image.size(2) * image.size(3); }

}  // namespace

namespace detail {

void cuda_convert(ConstTensorView src, TensorView dst, StreamView stream) {
  const DeviceGuard guard(src.device());
  if (src.count() == 0) return;
  cuda::launch_convert(src.dtype(), src.data(), dst.dtype(), dst.data(), src.count(),
                       native(stream));
}

}  // namespace detail

namespace cuda {

bool built() noexcept { return true; }

void activate(ConstTensorView x, Activation activation, TensorView y, StreamView stream) {
  const DeviceGuard guard(x.device());
  if (x.count() == 0) return;
  launch_activate(x.dtype(), x.data(), static_cast<int>(activation), y.data(), x.count(),
                  native(stream));
}

void add(ConstTensorView a, ConstTensorView b, TensorView y, StreamView stream) {
  const DeviceGuard guard(a.device());
  if (a.count() == 0) return;
  launch_add(a.dtype(), a.data(), b.data(), y.data(), a.count(), native(stream));
}

void norm(const cpu::NormArgs& args, StreamView stream) {
  const DeviceGuard guard(args.x.device());
  if (args.x.count() == 0) return;
  const bool gated = !args.y.empty(), normed = !args.h.empty();
  const NormLaunch launch{.x = args.x.data(),
                          .x_out = args.x_out.data(),
                          .y = args.y.data(),
                          .gate = args.gate.data(),
                          .shift = args.shift.data(),
                          .scale = args.scale.data(),
                          .h = args.h.data(),
                          .gate_stride = gated ? args.gate.stride(0) : 0,
                          .shift_stride = normed ? args.shift.stride(0) : 0,
                          .scale_stride = normed ? args.scale.stride(0) : 0,
                          .rows = args.x.size(0) * args.x.size(1),
                          .rows_per_image = args.x.size(1),
                          .width = args.x.size(2),
                          .epsilon = static_cast<float>(args.eps)};
  launch_norm(args.x.dtype(), normed ? args.h.dtype() : args.y.dtype(), launch, native(stream));
}

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, double scale,
               TensorView out, TensorView log_sum_exp, StreamView stream) {
  const DeviceGuard guard(q.device());
  const AttentionLaunch launch{.q = q.data(),
                               .k = k.data(),
                               .v = v.data(),
                               .out = out.data(),
                               .log_sum_exp = static_cast<float*>(log_sum_exp.data()),
                               .q_image_stride = q.stride(0),
                               .q_row_stride = q.stride(1),
                               .q_head_stride = q.stride(2),
                               .k_image_stride = k.stride(0),
                               .k_row_stride = k.stride(1),
                               .k_head_stride = k.stride(2),
                               .v_image_stride = v.stride(0),
                               .v_row_stride = v.stride(1),
                               .v_head_stride = v.stride(2),
                               .out_image_stride = out.stride(0),
                               .out_row_stride = out.stride(1),
                               .out_head_stride = out.stride(2),
                               .images = static_cast<int>(q.size(0)),
                               .heads = static_cast<int>(q.size(2)),
                               .queries = static_cast<int>(q.size(1)),
                               .keys = static_cast<int>(k.size(1)),
                               .scale = static_cast<float>(scale)};
  const int head_size = static_cast<int>(q.size(3));
  // Wide tiles once they alone give every multiprocessor two blocks.
  const std::int64_t wide_blocks = (q.size(1) + 127) / 128 * q.size(2) * q.size(0);
  const AttentionTile tile = wide_blocks >= 2 * multiprocessors(q.device().index)
                                 ? AttentionTile::kWide
                                 : AttentionTile::kNarrow;
  if (launch_flash_attention(q.dtype(), head_size, tile, launch, native(stream))) return;
  launch_math_attention(q.dtype(), head_size, launch, native(stream));
}

void attention_merge(ConstTensorView part, ConstTensorView part_lse, TensorView out, TensorView lse,
                     StreamView stream) {
  const DeviceGuard guard(part.device());
  if (part.count() == 0) return;
  launch_attention_merge(part.dtype(),
                         {.part = part.data(),
                          .part_lse = part_lse.as<float>(),
                          .out = out.data(),
                          .lse = lse.as<float>(),
                          .part_image_stride = part.stride(0),
                          .part_row_stride = part.stride(1),
                          .part_head_stride = part.stride(2),
                          .out_image_stride = out.stride(0),
                          .out_row_stride = out.stride(1),
                          .out_head_stride = out.stride(2),
                          .images = static_cast<int>(part.size(0)),
                          .heads = static_cast<int>(part.size(2)),
                          .queries = static_cast<int>(part.size(1)),
                          .head_size = static_cast<int>(part.size(3))},
                         native(stream));
}

void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens, StreamView stream) {
  const DeviceGuard guard(image.device());
  if (image.count() == 0) return;
  launch_patchify(image.dtype(), image.data(), tokens.dtype(), tokens.data(),
                  {image.size(0), image.size(1), image.size(2), image.size(3), patch},
                  native(stream));
}

void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image, StreamView stream) {
  const DeviceGuard guard(image.device());
  if (image.count() == 0) return;
  launch_unpatchify(tokens.dtype(), tokens.data(), image.dtype(), image.data(),
                    {image.size(0), image.size(1), image.size(2), image.size(3), patch},
                    native(stream));
}

void rearrange(DType dtype, const cpu::RearrangeArgs& args, Device device, StreamView stream) {
  const DeviceGuard guard(device);
  RearrangeLaunch launch{};
  launch.from = args.from;
  launch.to = args.to;
  for (std::size_t axis = 0; axis < cpu::kRearrangeAxes; ++axis) {
    launch.sizes[axis] = args.sizes[axis];
    launch.from_strides[axis] = args.from_strides[axis];
    launch.to_strides[axis] = args.to_strides[axis];
  }
  launch_rearrange(static_cast<int>(size_of(dtype)), launch, native(stream));
}

void timestep_embedding(std::span<const double> timesteps, double shift, TensorView out,
                        double max_period, StreamView stream) {
  const DeviceGuard guard(out.device());
  launch_timestep_embedding(out.dtype(), timesteps.data(), static_cast<int>(timesteps.size()),
                            shift, max_period, static_cast<int>(out.size(1)), out.data(),
                            native(stream));
}

void embedding_lookup(ConstTensorView table, std::span<const std::int32_t> indices, TensorView out,
                      StreamView stream) {
  const DeviceGuard guard(table.device());
  launch_embedding_lookup(table.dtype(), table.data(), indices.data(),
                          static_cast<int>(indices.size()), table.size(1), out.data(),
                          native(stream));
}

void add_rows(ConstTensorView rows, TensorView x, StreamView stream) {
  const DeviceGuard guard(x.device());
  if (x.count() == 0) return;
  launch_add_rows(x.dtype(), rows.data(), rows.count(), x.data(), x.count(), native(stream));
}

void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out, StreamView stream) {
  const DeviceGuard guard(out.device());
  if (out.count() == 0) return;
  launch_guidance(out.dtype(), cond.data(), uncond.data(), static_cast<float>(guidance),
                  guided_channels * plane(out), out.size(1) * plane(out), cond.size(1) * plane(out),
                  out.size(0), out.data(), native(stream));
}

void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out,
                    StreamView stream) {
  const DeviceGuard guard(out.device());
  if (out.count() == 0) return;
  launch_sampler(out.dtype(),
                 {.x = step.a != 0.0 ? x.data() : nullptr,
                  .eps = step.b != 0.0 ? eps.data() : nullptr,
                  .previous = step.c != 0.0 ? previous.data() : nullptr,
                  .noise = step.s != 0.0 ? noise.data() : nullptr,
                  .out = out.data(),
                  .a = static_cast<float>(step.a),
                  .b = static_cast<float>(step.b),
                  .c = static_cast<float>(step.c),
                  .s = static_cast<float>(step.s),
                  .block = out.size(1) * plane(out),
                  .eps_block = step.b != 0.0 ? eps.size(1) * plane(out) : 0,
                  .images = out.size(0)},
                 native(stream));
}

void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x, StreamView stream) {
  const DeviceGuard guard(x.device());
  if (x.count() == 0) return;
  launch_learned_noise(x.dtype(), model_out.data(), min_log, max_log, noise.data(), x.data(),
                       x.size(1) * plane(x), x.size(0), native(stream));
}

void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out, StreamView stream) {
  const DeviceGuard guard(out.device());
  if (out.count() == 0) return;
  launch_noise(out.dtype(), seed, images.data(), static_cast<int>(images.size()), step,
               out.size(1) * plane(out), out.data(), native(stream));
}

}  // namespace cuda
}  // namespace ditar
