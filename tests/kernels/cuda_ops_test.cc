// The other CUDA ops against the FP64 ops of the CPU, per dtype, over odd shapes and strides.
#include "cuda_testing.h"
#include "ditar/kernels/graph.h"
#include "ditar/kernels/ops/activation.h"
#include "ditar/kernels/ops/embedding.h"
#include "ditar/kernels/ops/linear.h"
#include "ditar/kernels/ops/norm.h"
#include "ditar/kernels/ops/patch.h"
#include "ditar/kernels/ops/sampler.h"

namespace ditar {
namespace {

using namespace ditar::testing;

using CudaOpsTest = CudaTest;

void expect_norm(DType residual, DType dtype, std::int64_t b, std::int64_t t, std::int64_t d,
                 StreamView stream) {
  HostValues x(Shape{b, t, d}, residual, 1), y(x.shape(), dtype, 2), gate(Shape{b, d}, dtype, 3);
  HostValues table(Shape{b, 2, d}, dtype, 4), h(x.shape(), dtype), first(x.shape(), dtype);
  GpuTensor gx(x, stream), gy(y, stream), ggate(gate, stream), gtable(table, stream);
  GpuTensor gh(x.shape(), dtype, stream), gfirst(x.shape(), dtype, stream);
  GpuTensor apart(x, stream), apart_h(x.shape(), dtype, stream);
  const auto row = [&](auto& source, std::int64_t which) {  // strided rows of a hoisted table
    const ConstTensorView all = source;
    return ConstTensorView(static_cast<const char*>(all.data()) +
                               static_cast<std::size_t>(which * d) * size_of(all.dtype()),
                           Shape{b, d}, Strides{2 * d, 1}, all.dtype(), all.device());
  };
  layer_norm_modulate(x, row(table, 0), row(table, 1), 1e-6, first, {});
  layer_norm_modulate(gx, row(gtable, 0), row(gtable, 1), 1e-6, gfirst, stream);
  EXPECT_LE(error_of(gfirst, first), tolerance(dtype)) << b << "x" << t << "x" << d;
  gate_residual_layer_norm_modulate(y, gate, row(table, 0), row(table, 1), 1e-6, x, h, {});
  gate_residual_layer_norm_modulate(gy, ggate, row(gtable, 0), row(gtable, 1), 1e-6, gx, gh,
                                    stream);
  EXPECT_LE(error_of(gx, x), tolerance(residual)) << b << "x" << t << "x" << d;
  EXPECT_LE(error_of(gh, h), 2 * tolerance(dtype)) << b << "x" << t << "x" << d;
  gate_residual(gy, ggate, apart, stream);
  layer_norm_modulate(apart, row(gtable, 0), row(gtable, 1), 1e-6, apart_h, stream);
  EXPECT_EQ(apart.bytes(), gx.bytes());
  EXPECT_EQ(apart_h.bytes(), gh.bytes());
}

TEST_P(CudaOpsTest, NormFollowsTheReference) {
  for (const std::int64_t d : {1, 7, 8, 100, 128, 144, 256, 384, 768, 1152, 2048, 2056}) {
    expect_norm(GetParam(), GetParam(), 3, 5, d, stream());
  }
}

TEST_P(CudaOpsTest, NormKeepsAWideResidualStream) {
  for (const std::int64_t d : {7, 144, 1152}) {
    expect_norm(DType::kF32, GetParam(), 2, 9, d, stream());
  }
}

void expect_linear(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool tf32,
                   const LinearEpilogue& epilogue, bool gated, StreamView stream) {
  const double deviation = 1.0 / std::sqrt(static_cast<double>(k));
  HostValues w(Shape{n, k}, dtype, 1, deviation), bias(Shape{n}, dtype, 2),
      x(Shape{m, k}, dtype, 3);
  HostValues gate(Shape{2, n}, dtype, 4), residual(Shape{m, n}, dtype, 5), y(Shape{m, n}, dtype);
  GpuTensor gw(w, stream), gbias(bias, stream), gx(x, stream), ggate(gate, stream);
  GpuTensor gresidual(residual, stream), gy(Shape{m, n}, dtype, stream);
  LinearEpilogue host = epilogue, device = epilogue;
  if (gated) {
    host.gate = gate, host.residual = residual;
    device.gate = ggate, device.residual = gresidual;
    host.rows_per_image = device.rows_per_image = (m + 1) / 2;
  }
  Linear(w, bias, {}).run(x, y, host, {});
  const Linear layer(gw, gbias, stream, tf32);
  Tensor scratch(Shape{static_cast<std::int64_t>(layer.workspace_bytes(m))}, DType::kU8, kGpu);
  layer.run(gx, gy, device, scratch, stream);
  stream.synchronize();
  EXPECT_LE(error_of(gy, y), tf32 ? 2e-3 : tolerance(dtype))
      << "M " << m << " N " << n << " K " << k << (tf32 ? " TF32" : "");
}

TEST_P(CudaOpsTest, LinearFollowsTheReference) {
  for (const auto& [m, n, k] : {std::tuple{1, 64, 64},
                                {5, 48, 16},
                                {49, 384, 128},
                                {100, 32, 1152},
                                {130, 144, 432},
                                {3, 8, 24},
                                {64, 4, 8}}) {
    for (const Activation activation :
         {Activation::kNone, Activation::kGeluTanh, Activation::kSilu}) {
      const LinearEpilogue epilogue{.activation = activation, .gate = {}, .residual = {}};
      expect_linear(GetParam(), m, n, k, false, epilogue, false, stream());
      expect_linear(GetParam(), m, n, k, false, epilogue, true, stream());
      if (GetParam() == DType::kF32) {
        expect_linear(GetParam(), m, n, k, true, epilogue, false, stream());
      }
    }
  }
}

TEST_P(CudaOpsTest, LinearGivesEqualBitsInAHundredRepeats) {
  HostValues w(Shape{256, 512}, GetParam(), 1), x(Shape{130, 512}, GetParam(), 2);
  GpuTensor gw(w, stream()), gx(x, stream()), first(Shape{130, 256}, GetParam(), stream());
  const Linear layer(gw, {}, stream());
  Tensor scratch(Shape{static_cast<std::int64_t>(layer.workspace_bytes(130))}, DType::kU8, kGpu);
  layer.run(gx, first, {}, scratch, stream());
  const auto expected = first.bytes();
  for (int repeat = 0; repeat < 100; ++repeat) {
    GpuTensor again(Shape{130, 256}, GetParam(), stream());
    layer.run(gx, again, {}, scratch, stream());
    ASSERT_EQ(again.bytes(), expected) << "repeat " << repeat;
  }
}

TEST_P(CudaOpsTest, PointwiseFollowsTheReference) {
  HostValues a(Shape{3, 333}, GetParam(), 1, 3.0), b(a.shape(), GetParam(), 2),
      y(a.shape(), GetParam());
  GpuTensor ga(a, stream()), gb(b, stream()), gy(a.shape(), GetParam(), stream());
  for (const Activation activation : {Activation::kGeluTanh, Activation::kSilu}) {
    activate(a, activation, y, {});
    activate(ga, activation, gy, stream());
    EXPECT_LE(error_of(gy, y), tolerance(GetParam()));
  }
  add(a, b, y, {});
  add(ga, gb, gy, stream());
  EXPECT_LE(error_of(gy, y), tolerance(GetParam()));
  HostValues rows(Shape{37, 9}, GetParam(), 3), x(Shape{4, 37, 9}, GetParam(), 4);
  GpuTensor grows(rows, stream()), gx(x, stream());
  add_rows(rows, x, {});
  add_rows(grows, gx, stream());
  EXPECT_LE(error_of(gx, x), tolerance(GetParam()));
}

TEST_P(CudaOpsTest, PatchesAreExactCopies) {
  for (const std::int64_t p : {1, 2, 4}) {
    HostValues image(Shape{3, 5, 8, 12}, GetParam(), 1);
    HostValues tokens(Shape{3 * 8 / p * 12 / p, 5 * p * p}, GetParam()),
        back(image.shape(), GetParam());
    patchify(image, p, tokens, {});
    unpatchify(tokens, p, back, {});
    GpuTensor gimage(image, stream()), gtokens(tokens.shape(), GetParam(), stream());
    GpuTensor gback(image.shape(), GetParam(), stream()),
        gwide(tokens.shape(), DType::kF32, stream());
    patchify(gimage, p, gtokens, stream());
    patchify(gimage, p, gwide, stream());
    unpatchify(gtokens, p, gback, stream());
    EXPECT_EQ(error_of(gtokens, tokens), 0.0);
    EXPECT_EQ(error_of(gwide, tokens), 0.0);
    EXPECT_EQ(error_of(gback, back), 0.0);
  }
}

TEST_P(CudaOpsTest, EmbeddingsFollowTheReference) {
  std::vector<double> timesteps(150);
  std::vector<std::int32_t> indices(150);
  for (int i = 0; i < 150; ++i) {
    timesteps[static_cast<std::size_t>(i)] = 999.0 - 6.5 * i;
    indices[static_cast<std::size_t>(i)] = (7 * i) % 11;
  }
  HostValues expected(Shape{150, 256}, GetParam());
  GpuTensor out(expected.shape(), GetParam(), stream());
  timestep_embedding(timesteps, TimestepFrequencies::kDiffusers, expected, {});
  timestep_embedding(timesteps, TimestepFrequencies::kDiffusers, out, stream());
  EXPECT_LE(error_of(out, expected), tolerance(GetParam()));
  HostValues table(Shape{11, 33}, GetParam(), 1), rows(Shape{150, 33}, GetParam());
  GpuTensor gtable(table, stream()), grows(rows.shape(), GetParam(), stream());
  embedding_lookup(table, indices, rows, {});
  embedding_lookup(gtable, indices, grows, stream());
  EXPECT_EQ(error_of(grows, rows), 0.0);
}

TEST_P(CudaOpsTest, SamplerFollowsTheReference) {
  const DType dtype = GetParam();
  HostValues cond(Shape{3, 6, 4, 5}, dtype, 1), uncond(cond.shape(), dtype, 2);
  HostValues x(Shape{3, 3, 4, 5}, dtype, 3), noise(x.shape(), dtype, 4), out(x.shape(), dtype);
  GpuTensor gcond(cond, stream()), guncond(uncond, stream()), gx(x, stream());
  GpuTensor gnoise(noise, stream()), gout(x.shape(), dtype, stream());
  for (const std::int64_t guided : {0, 2}) {
    guidance_combine(cond, uncond, 4.0, guided, out, {});
    guidance_combine(gcond, guncond, 4.0, guided, gout, stream());
    EXPECT_LE(error_of(gout, out), tolerance(dtype));
  }
  const AffineStep step{.a = 0.9, .b = -0.4, .c = 0.0, .s = 0.1};
  sampler_update(step, x, cond, {}, noise, out, {});
  sampler_update(step, gx, gcond, {}, gnoise, gout, stream());
  EXPECT_LE(error_of(gout, out), tolerance(dtype));
  add_learned_noise(cond, -3.0, -1.0, noise, x, {});
  add_learned_noise(gcond, -3.0, -1.0, gnoise, gx, stream());
  EXPECT_LE(error_of(gx, x), tolerance(dtype));
}

TEST_P(CudaOpsTest, NoiseIsThatOfTheCpu) {
  std::vector<std::uint64_t> images(40);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = (i << 33U) + 5 * i;
  HostValues expected(Shape{40, 1, 3, 7}, GetParam());
  GpuTensor out(expected.shape(), GetParam(), stream());
  fill_noise(77, images, 3, expected, {});
  fill_noise(77, images, 3, out, stream());
  EXPECT_LE(error_of(out, expected), tolerance(GetParam()));
}

TEST_P(CudaOpsTest, ConversionRoundsToNearest) {
  HostValues wide(Shape{1000}, DType::kF32, 1, 100.0);
  HostValues narrow(Shape{1000}, GetParam(), 1, 100.0);
  GpuTensor source(wide, stream()), out(wide.shape(), GetParam(), stream());
  GpuTensor back(wide.shape(), DType::kF32, stream());
  convert(source, out, stream());
  convert(out, back, stream());
  EXPECT_LE(error_of(out, narrow), GetParam() == DType::kF32 ? 0.0 : tolerance(GetParam()));
  EXPECT_EQ(back.values(), out.values());
}

// A graph reads memory anew at each launch and keeps host values.
TEST_P(CudaOpsTest, GraphsRepeatWhatTheyRecorded) {
  HostValues w(Shape{64, 32}, GetParam(), 1), x(Shape{20, 32}, GetParam(), 2);
  HostValues other(Shape{20, 32}, GetParam(), 3);
  GpuTensor gw(w, stream()), gx(x, stream()), gother(other, stream());
  GpuTensor out(Shape{20, 64}, GetParam(), stream()), plain(Shape{20, 64}, GetParam(), stream());
  const Linear layer(gw, {}, stream());
  Tensor scratch(Shape{static_cast<std::int64_t>(layer.workspace_bytes(20))}, DType::kU8, kGpu);
  const auto work = [&](TensorView y) {
    layer.run(gx, y, {.activation = Activation::kSilu, .gate = {}, .residual = {}}, scratch,
              stream());
    activate(y, Activation::kGeluTanh, y, stream());
  };
  work(plain);
  const Graph graph(stream(), [&] { work(out); });
  graph.launch(stream());
  EXPECT_EQ(out.bytes(), plain.bytes());
  copy(gother, gx, stream());
  work(plain);
  graph.launch(stream());
  EXPECT_EQ(out.bytes(), plain.bytes());
}

TEST_P(CudaOpsTest, GraphsRefuseBodiesThatThrow) {
  EXPECT_THROW(Graph(stream(), [] { throw InvalidArgument("refused inside"); }), InvalidArgument);
  GpuTensor x(Shape{2, 2}, GetParam(), stream());
  add(x, x, x, stream());  // the stream still works
  stream().synchronize();
}

TEST_P(CudaOpsTest, RefusesWhatTheCpuAloneServes) {
  GpuTensor x(Shape{2, 2}, DType::kF64, stream());
  EXPECT_THROW(add(x, x, x, stream()), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOpsTest,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kBF16), dtype_name);

}  // namespace
}  // namespace ditar
