// Patchify and unpatchify on the CPU: one token per iteration, pure copies, memory bound.
#include "ops/cpu_ops.h"
#include "parallel_for.h"

namespace ditar::cpu {
namespace {

/// The token grid of an image batch.
struct Grid {
  std::int64_t channels, height, width, patch, columns, tokens;
  explicit Grid(const Shape& image, std::int64_t p)
      : channels(image[1]),
        height(image[2]),
        width(image[3]),
        patch(p),
        columns(width / p),
        tokens(height / p * columns) {}
  /// Offset of (channel 0, ph 0, pw 0) of token `row` of all images.
  std::int64_t corner(std::int64_t row) const {
    const std::int64_t image = row / tokens;
    const std::int64_t token = row % tokens;
    return image * channels * height * width + token / columns * patch * width +
           token % columns * patch;
  }
};

}  // namespace

void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens) {
  const Grid grid(image.shape(), patch);
  with_type(image.dtype(), [&]<typename T>(T) {
    parallel_for(tokens.size(0), tokens.count(), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = image.as<T>() + grid.corner(row);
        T* to = tokens.as<T>() + row * tokens.size(1);
        for (std::int64_t c = 0; c < grid.channels; ++c) {
          for (std::int64_t ph = 0; ph < patch; ++ph) {
            for (std::int64_t pw = 0; pw < patch; ++pw) {
              *to++ = from[(c * grid.height + ph) * grid.width + pw];
            }
          }
        }
      }
    });
  });
}

void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image) {
  const Grid grid(image.shape(), patch);
  with_type(image.dtype(), [&]<typename T>(T) {
    parallel_for(tokens.size(0), tokens.count(), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = tokens.as<T>() + row * tokens.size(1);
        T* to = image.as<T>() + grid.corner(row);
        for (std::int64_t ph = 0; ph < patch; ++ph) {
          for (std::int64_t pw = 0; pw < patch; ++pw) {
            for (std::int64_t c = 0; c < grid.channels; ++c) {
              to[(c * grid.height + ph) * grid.width + pw] = *from++;
            }
          }
        }
      }
    });
  });
}

}  // namespace ditar::cpu
