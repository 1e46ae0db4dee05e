#include "image_ops.h"

#include <cmath>

namespace ditar {

template <typename T>
void patchify(const T* x, std::int64_t images, const ModelConfig& c, T* patches) {
  const std::int64_t p = c.patch;
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t gh = 0; gh < c.grid_h(); ++gh) {
      for (std::int64_t gw = 0; gw < c.grid_w(); ++gw) {
        for (std::int64_t channel = 0; channel < c.channels; ++channel) {
          for (std::int64_t ph = 0; ph < p; ++ph) {
            const std::int64_t row = (n * c.channels + channel) * c.height + gh * p + ph;
            const T* from = x + row * c.width + gw * p;
            for (std::int64_t pw = 0; pw < p; ++pw) *patches++ = from[pw];
          }
        }
      }
    }
  }
}

template <typename T>
void unpatchify(const T* patches, std::int64_t images, const ModelConfig& c, T* x) {
  const std::int64_t p = c.patch;
  const std::int64_t channels = c.out_channels();
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t gh = 0; gh < c.grid_h(); ++gh) {
      for (std::int64_t gw = 0; gw < c.grid_w(); ++gw) {
        for (std::int64_t ph = 0; ph < p; ++ph) {
          for (std::int64_t pw = 0; pw < p; ++pw) {
            for (std::int64_t channel = 0; channel < channels; ++channel) {
              const std::int64_t row = (n * channels + channel) * c.height + gh * p + ph;
              x[row * c.width + gw * p + pw] = *patches++;
            }
          }
        }
      }
    }
  }
}

template <typename T>
void guide(const T* cond, const T* uncond, std::int64_t images, const ModelConfig& c, double scale,
           std::int64_t guided, T* eps) {
  const std::int64_t plane = c.height * c.width;
  const T weight = static_cast<T>(scale);
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t channel = 0; channel < c.channels; ++channel) {
      const std::int64_t from = (n * c.out_channels() + channel) * plane;
      T* to = eps + (n * c.channels + channel) * plane;
      if (uncond != nullptr && channel < guided) {
        for (std::int64_t i = 0; i < plane; ++i) {
          to[i] = uncond[from + i] + weight * (cond[from + i] - uncond[from + i]);
        }
      } else {
        for (std::int64_t i = 0; i < plane; ++i) to[i] = cond[from + i];
      }
    }
  }
}

template <typename T>
void sampler_update(const SamplerPlan& plan, std::size_t k, std::int64_t images,
                    const ModelConfig& c, const T* eps, const T* cond, const float* noise,
                    T* history, T* x) {
  const SamplerStep& step = plan.steps[k];
  const std::int64_t each = c.channels * c.height * c.width;
  const T keep = static_cast<T>(step.keep);
  const T eps_scale = static_cast<T>(step.eps_scale);
  const T middle = static_cast<T>(0.5 * (step.max_log + step.min_log));
  const T half_range = static_cast<T>(0.5 * (step.max_log - step.min_log));
  const bool learned = plan.variance == VarianceKind::kLearnedRange && noise != nullptr;
  for (std::int64_t n = 0; n < images; ++n) {
    const T* logits = cond + n * c.out_channels() * c.height * c.width + each;
    for (std::int64_t i = n * each; i < (n + 1) * each; ++i) {
      T next = keep * x[i] + eps_scale * eps[i];
      if (history != nullptr) {
        next += static_cast<T>(step.history) * history[i];
        history[i] = static_cast<T>(step.x0_keep) * x[i] + static_cast<T>(step.x0_eps) * eps[i];
      }
      if (noise != nullptr) {
        const T scale = learned ? std::exp(T(0.5) * (middle + half_range * logits[i - n * each]))
                                : static_cast<T>(step.noise_scale);
        next += scale * static_cast<T>(noise[i]);
      }
      x[i] = next;
    }
  }
}

#define DITAR_INSTANTIATE(T)                                                           \
  template void patchify<T>(const T*, std::int64_t, const ModelConfig&, T*);           \
  template void unpatchify<T>(const T*, std::int64_t, const ModelConfig&, T*);         \
  template void guide<T>(const T*, const T*, std::int64_t, const ModelConfig&, double, \
                         std::int64_t, T*);                                            \
  template void sampler_update<T>(const SamplerPlan&, std::size_t, std::int64_t,       \
                                  const ModelConfig&, const T*, const T*, const float*, T*, T*)
DITAR_INSTANTIATE(float);
DITAR_INSTANTIATE(double);
#undef DITAR_INSTANTIATE

}  // namespace ditar
