// Patchify, unpatchify, guidance, sampler step, learned variance and noise: one thread an element
// (noise: four), memory bound and small beside the blocks of the model.
#include "ditar/config/philox.h"
#include "element.cuh"

namespace ditar::cuda {
namespace {

/// Image element that token row `row` holds at (channel, ph, pw).
__device__ inline std::int64_t pixel(const PatchLaunch& a, std::int64_t row, std::int64_t channel,
                                     std::int64_t ph, std::int64_t pw) {
  const std::int64_t columns = a.width / a.patch, tokens = a.height / a.patch * columns;
  const std::int64_t image = row / tokens, token = row % tokens;
  return ((image * a.channels + channel) * a.height + token / columns * a.patch + ph) * a.width +
         token % columns * a.patch + pw;
}

template <typename From, typename To>
__global__ void patchify_kernel(const From* image, To* tokens, const PatchLaunch a) {
  const std::int64_t count = a.images * a.channels * a.height * a.width;
  const std::int64_t row_size = a.channels * a.patch * a.patch;
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t at = i % row_size;
    const std::int64_t pw = at % a.patch, ph = at / a.patch % a.patch;
    const std::int64_t channel = at / (a.patch * a.patch);
    store1(tokens + i, load1(image + pixel(a, i / row_size, channel, ph, pw)));
  }
}

template <typename From, typename To>
__global__ void unpatchify_kernel(const From* tokens, To* image, const PatchLaunch a) {
  const std::int64_t count = a.images * a.channels * a.height * a.width;
  const std::int64_t row_size = a.channels * a.patch * a.patch;
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t at = i % row_size, channel = at % a.channels;
    const std::int64_t pw = at / a.channels % a.patch, ph = at / (a.channels * a.patch);
    store1(image + pixel(a, i / row_size, channel, ph, pw), load1(tokens + i));
  }
}

template <typename T>
__global__ void guidance_kernel(const T* cond, const T* uncond, float guidance, std::int64_t guided,
                                std::int64_t block, std::int64_t in_block, std::int64_t images,
                                T* out) {
  for (std::int64_t i = first_index(); i < block * images; i += index_step()) {
    const std::int64_t within = i % block, from = i / block * in_block + within;
    const float c = load1(cond + from);
    const float u = load1(uncond + from);
    store1(out + i, within < guided ? u + guidance * (c - u) : c);
  }
}

template <typename T>
__global__ void sampler_kernel(const SamplerLaunch a) {
  for (std::int64_t i = first_index(); i < a.block * a.images; i += index_step()) {
    float value = 0.0F;
    if (a.x != nullptr) value = a.a * load1(static_cast<const T*>(a.x) + i);
    if (a.eps != nullptr) {
      value += a.b * load1(static_cast<const T*>(a.eps) + i / a.block * a.eps_block + i % a.block);
    }
    if (a.previous != nullptr) value += a.c * load1(static_cast<const T*>(a.previous) + i);
    if (a.noise != nullptr) value += a.s * load1(static_cast<const T*>(a.noise) + i);
    store1(static_cast<T*>(a.out) + i, value);
  }
}

template <typename T>
__global__ void learned_noise_kernel(const T* model_out, double min_log, double max_log,
                                     const T* noise, T* x, std::int64_t block,
                                     std::int64_t images) {
  for (std::int64_t i = first_index(); i < block * images; i += index_step()) {
    const double v = load1(model_out + (2 * (i / block) + 1) * block + i % block);
    const double f = (v + 1.0) * 0.5;
    const double deviation = exp(0.5 * (f * max_log + (1.0 - f) * min_log));
    store1(x + i, load1(x + i) + static_cast<float>(deviation * double(load1(noise + i))));
  }
}

inline constexpr int kNoiseImages = 32;
struct NoiseImages {
  std::uint64_t index[kNoiseImages];
};

template <typename T>
__global__ void noise_kernel(std::uint64_t seed, const NoiseImages images, std::uint32_t step,
                             std::int64_t block, T* out) {
  const std::int64_t fours = (block + 3) / 4;
  T* const to = out + std::int64_t(blockIdx.y) * block;
  for (std::int64_t four = first_index(); four < fours; four += index_step()) {
    float normals[4];
    philox_normal4(seed, images.index[blockIdx.y], step, static_cast<std::uint32_t>(four), normals);
    for (int j = 0; j < 4 && 4 * four + j < block; ++j) store1(to + 4 * four + j, normals[j]);
  }
}

std::int64_t elements(const PatchLaunch& a) { return a.images * a.channels * a.height * a.width; }

}  // namespace

void launch_patchify(DType image_dtype, const void* image, DType token_dtype, void* tokens,
                     const PatchLaunch& arguments, cudaStream_t stream) {
  with_element(image_dtype, [&]<typename From>(From*) {
    with_element(token_dtype, [&]<typename To>(To*) {
      patchify_kernel<From, To><<<blocks_for(elements(arguments)), kThreads, 0, stream>>>(
          static_cast<const From*>(image), static_cast<To*>(tokens), arguments);
    });
  });
  check_launch("patchify kernel");
}

void launch_unpatchify(DType token_dtype, const void* tokens, DType image_dtype, void* image,
                       const PatchLaunch& arguments, cudaStream_t stream) {
  with_element(token_dtype, [&]<typename From>(From*) {
    with_element(image_dtype, [&]<typename To>(To*) {
      unpatchify_kernel<From, To><<<blocks_for(elements(arguments)), kThreads, 0, stream>>>(
          static_cast<const From*>(tokens), static_cast<To*>(image), arguments);
    });
  });
  check_launch("unpatchify kernel");
}

void launch_guidance(DType dtype, const void* cond, const void* uncond, float guidance,
                     std::int64_t guided, std::int64_t block, std::int64_t in_block,
                     std::int64_t images, void* out, cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    guidance_kernel<T><<<blocks_for(block * images), kThreads, 0, stream>>>(
        static_cast<const T*>(cond), static_cast<const T*>(uncond), guidance, guided, block,
        in_block, images, static_cast<T*>(out));
  });
  check_launch("guidance kernel");
}

void launch_sampler(DType dtype, const SamplerLaunch& arguments, cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    sampler_kernel<T>
        <<<blocks_for(arguments.block * arguments.images), kThreads, 0, stream>>>(arguments);
  });
  check_launch("sampler kernel");
}

void launch_learned_noise(DType dtype, const void* model_out, double min_log, double max_log,
                          const void* noise, void* x, std::int64_t block, std::int64_t images,
                          cudaStream_t stream) {
  with_element(dtype, [&]<typename T>(T*) {
    learned_noise_kernel<T><<<blocks_for(block * images), kThreads, 0, stream>>>(
        static_cast<const T*>(model_out), min_log, max_log, static_cast<const T*>(noise),
        static_cast<T*>(x), block, images);
  });
  check_launch("learned_noise kernel");
}

void launch_noise(DType dtype, std::uint64_t seed, const std::uint64_t* images, int count,
                  std::uint32_t step, std::int64_t block, void* out, cudaStream_t stream) {
  for (int first = 0; first < count; first += kNoiseImages) {
    const int part = count - first < kNoiseImages ? count - first : kNoiseImages;
    NoiseImages indices{};
    for (int i = 0; i < part; ++i) indices.index[i] = images[first + i];
    const dim3 grid(blocks_for((block + 3) / 4), static_cast<unsigned int>(part));
    with_element(dtype, [&]<typename T>(T*) {
      noise_kernel<T><<<grid, kThreads, 0, stream>>>(seed, indices, step, block,
                                                     static_cast<T*>(out) + first * block);
    });
    check_launch("noise kernel");
  }
}

}  // namespace ditar::cuda
