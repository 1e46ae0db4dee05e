// Guidance, sampler step, learned variance and noise on the CPU: pointwise and small. Each element
// is one fixed scalar expression, so bits do not depend on the batch.
#include "ditar/config/philox.h"
#include "ops/cpu_ops.h"
#include "parallel_for.h"

#include <cmath>

namespace ditar::cpu {
namespace {

std::int64_t pixels(const TensorView& image) { return image.size(2) * image.size(3); }

}  // namespace

void guidance_combine(ConstTensorView cond, ConstTensorView uncond, double guidance,
                      std::int64_t guided_channels, TensorView out) {
  with_type(out.dtype(), [&]<typename T>(T) {
    const std::int64_t plane = pixels(out);
    const T weight = static_cast<T>(guidance);
    for (std::int64_t image = 0; image < out.size(0); ++image) {
      const T* c = cond.as<T>() + image * cond.size(1) * plane;
      const T* u = uncond.as<T>() + image * cond.size(1) * plane;
      T* to = out.as<T>() + image * out.size(1) * plane;
      const std::int64_t guided = guided_channels * plane;
      for (std::int64_t i = 0; i < guided; ++i) to[i] = u[i] + weight * (c[i] - u[i]);
      for (std::int64_t i = guided; i < out.size(1) * plane; ++i) to[i] = c[i];
    }
  });
}

void sampler_update(const AffineStep& step, ConstTensorView x, ConstTensorView eps,
                    ConstTensorView previous, ConstTensorView noise, TensorView out) {
  with_type(out.dtype(), [&]<typename T>(T) {
    const std::int64_t block = out.size(1) * pixels(out);
    const T a = static_cast<T>(step.a);
    const T b = static_cast<T>(step.b);
    const T c = static_cast<T>(step.c);
    const T s = static_cast<T>(step.s);
    for (std::int64_t image = 0; image < out.size(0); ++image) {
      const std::int64_t at = image * block;
      const T* from_x = step.a != 0.0 ? x.as<T>() + at : nullptr;
      const T* from_eps = step.b != 0.0 ? eps.as<T>() + image * eps.size(1) * pixels(out) : nullptr;
      const T* from_previous = step.c != 0.0 ? previous.as<T>() + at : nullptr;
      const T* from_noise = step.s != 0.0 ? noise.as<T>() + at : nullptr;
      T* to = out.as<T>() + at;
      for (std::int64_t i = 0; i < block; ++i) {
        T value = from_x != nullptr ? a * from_x[i] : T{0};
        if (from_eps != nullptr) value += b * from_eps[i];
        if (from_previous != nullptr) value += c * from_previous[i];
        if (from_noise != nullptr) value += s * from_noise[i];
        to[i] = value;
      }
    }
  });
}

void add_learned_noise(ConstTensorView model_out, double min_log, double max_log,
                       ConstTensorView noise, TensorView x) {
  with_type(x.dtype(), [&]<typename T>(T) {
    const std::int64_t block = x.size(1) * pixels(x);
    for (std::int64_t image = 0; image < x.size(0); ++image) {
      const T* v = model_out.as<T>() + (2 * image + 1) * block;
      const T* z = noise.as<T>() + image * block;
      T* to = x.as<T>() + image * block;
      for (std::int64_t i = 0; i < block; ++i) {
        const double f = (static_cast<double>(v[i]) + 1.0) * 0.5;
        const double deviation = std::exp(0.5 * (f * max_log + (1.0 - f) * min_log));
        to[i] += static_cast<T>(deviation * static_cast<double>(z[i]));
      }
    }
  });
}

void fill_noise(std::uint64_t seed, std::span<const std::uint64_t> images, std::uint32_t step,
                TensorView out) {
  const std::int64_t block = out.size(1) * pixels(out);
  with_type(out.dtype(), [&]<typename T>(T) {
    for (std::size_t image = 0; image < images.size(); ++image) {
      T* to = out.as<T>() + static_cast<std::int64_t>(image) * block;
      const std::int64_t fours = (block + 3) / 4;
      parallel_for(fours, block * 40, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t four = begin; four < end; ++four) {
          float normals[4];
          philox_normal4(seed, images[image], step, static_cast<std::uint32_t>(four), normals);
          for (std::int64_t j = 0; j < 4 && 4 * four + j < block; ++j) {
            to[4 * four + j] = static_cast<T>(normals[j]);
          }
        }
      });
    }
  });
}

}  // namespace ditar::cpu
