// Pictures of generated samples: a labelled PNG grid for people and an NPZ file for the tools that
// compute FID. Same input, same bytes: no time, no host and no random name enters either file.
// Stateless; thread-safe for different paths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ditar {

/// 8-bit pixels, (images, height, width, channels), channels 1 or 3.
struct PixelBatch {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bytes;
};

/// Latents in pixel space, (images, channels, height, width) in [-1, 1], to pixels:
/// clamp, then round((x + 1) * 127.5). @throws InvalidArgument if the counts do not fit or a value
/// is not finite.
PixelBatch to_pixels(std::span<const float> values, std::int64_t images, std::int64_t channels,
                     std::int64_t height, std::int64_t width);

struct GridOptions {
  std::int64_t columns = 0;  ///< 0: up to ten in a row
  std::int64_t zoom = 4;     ///< each pixel becomes zoom x zoom
  /// Key and value pairs for the file's tEXt chunks, Latin-1, in this order.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Writes the grid with each image's label above it. Blocks. @throws IoError, InvalidArgument.
void write_png_grid(const std::filesystem::path& path, const PixelBatch& pixels,
                    std::span<const std::int32_t> labels, const GridOptions& options);

/// Writes arr_0 (uint8, NHWC) and arr_1 (int64 labels), uncompressed. Blocks. @throws IoError.
void write_npz(const std::filesystem::path& path, const PixelBatch& pixels,
               std::span<const std::int32_t> labels);

}  // namespace ditar
