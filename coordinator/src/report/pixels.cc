#include "ditar/config/error.h"
#include "ditar/coordinator/image_grid.h"

#include <cmath>

namespace ditar {

PixelBatch to_pixels(std::span<const float> values, std::int64_t images, std::int64_t channels,
                     std::int64_t height, std::int64_t width) {
  require(images > 0 && height > 0 && width > 0 && (channels == 1 || channels == 3),
          "pixels: expected at least one image with 1 or 3 channels");
  require(static_cast<std::int64_t>(values.size()) == images * channels * height * width,
          "pixels: the number of values is not images * channels * height * width");
  PixelBatch out{images, height, width, channels, std::vector<std::uint8_t>(values.size())};
  const std::int64_t plane = height * width;
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t at = 0; at < plane; ++at) {
        const float value = values[static_cast<std::size_t>((n * channels + c) * plane + at)];
        if (!std::isfinite(value)) {
          throw InvalidArgument("pixels: image " + std::to_string(n) +
                                " has a value that is not finite; the model or the kernels failed");
        }
        const float clamped = std::fmin(1.0F, std::fmax(-1.0F, value));
        out.bytes[static_cast<std::size_t>((n * plane + at) * channels + c)] =
            static_cast<std::uint8_t>(std::lround((clamped + 1.0F) * 127.5F));
      }
    }
  }
  return out;
}

}  // namespace ditar
