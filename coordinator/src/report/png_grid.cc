#include "ditar/config/error.h"
#include "ditar/coordinator/image_grid.h"
#include "report/digit_font.h"

#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ditar {
namespace {

constexpr std::int64_t kMargin = 6;
constexpr std::int64_t kFontZoom = 2;
constexpr std::int64_t kLabelHeight = kGlyphHeight * kFontZoom + 6;

struct Canvas {
  std::int64_t width, height, channels;
  std::vector<std::uint8_t> bytes;
  std::uint8_t* at(std::int64_t x, std::int64_t y) {
    return bytes.data() + (y * width + x) * channels;
  }
};

void draw_label(Canvas& canvas, std::int64_t left, std::int64_t top, std::int32_t label) {
  const std::string text = std::to_string(std::max(label, 0));
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto& glyph = kDigitGlyphs[static_cast<std::size_t>(text[k] - '0')];
    for (std::int64_t y = 0; y < kGlyphHeight * kFontZoom; ++y) {
      for (std::int64_t x = 0; x < kGlyphWidth * kFontZoom; ++x) {
        const auto row = glyph[static_cast<std::size_t>(y / kFontZoom)];
        if (((row >> (kGlyphWidth - 1 - x / kFontZoom)) & 1) == 0) continue;
        const std::int64_t column =
            left + static_cast<std::int64_t>(k) * (kGlyphWidth + 1) * kFontZoom + x;
        if (column >= canvas.width) continue;
        std::memset(canvas.at(column, top + y), 0, static_cast<std::size_t>(canvas.channels));
      }
    }
  }
}

void draw_image(Canvas& canvas, std::int64_t left, std::int64_t top, const PixelBatch& pixels,
                std::int64_t image, std::int64_t zoom) {
  for (std::int64_t y = 0; y < pixels.height * zoom; ++y) {
    for (std::int64_t x = 0; x < pixels.width * zoom; ++x) {
      const std::int64_t from =
          ((image * pixels.height + y / zoom) * pixels.width + x / zoom) * pixels.channels;
      std::memcpy(canvas.at(left + x, top + y), pixels.bytes.data() + from,
                  static_cast<std::size_t>(pixels.channels));
    }
  }
}

Canvas compose(const PixelBatch& pixels, std::span<const std::int32_t> labels,
               const GridOptions& options) {
  const std::int64_t columns = options.columns > 0 ? std::min(options.columns, pixels.images)
                                                   : std::min<std::int64_t>(10, pixels.images);
  const std::int64_t rows = (pixels.images + columns - 1) / columns;
  const std::int64_t cell_width = pixels.width * options.zoom + kMargin;
  const std::int64_t cell_height = pixels.height * options.zoom + kLabelHeight + kMargin;
  Canvas canvas{columns * cell_width + kMargin, rows * cell_height + kMargin, pixels.channels, {}};
  canvas.bytes.assign(static_cast<std::size_t>(canvas.width * canvas.height * canvas.channels),
                      255);
  for (std::int64_t n = 0; n < pixels.images; ++n) {
    const std::int64_t left = kMargin + (n % columns) * cell_width;
    const std::int64_t top = kMargin + (n / columns) * cell_height;
    draw_label(canvas, left, top, labels[static_cast<std::size_t>(n)]);
    draw_image(canvas, left, top + kLabelHeight, pixels, n, options.zoom);
  }
  return canvas;
}

[[noreturn]] void on_png_error(png_structp, png_const_charp text) {
  throw IoError(std::string("png: ") + text);
}

void encode(std::FILE* file, Canvas& canvas, const GridOptions& options) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, on_png_error, nullptr);
  if (png == nullptr) throw OutOfMemory("png: no memory for the encoder; free some and try again");
  png_infop info = png_create_info_struct(png);
  const auto release = [&](png_structp) { png_destroy_write_struct(&png, &info); };
  const std::unique_ptr<png_struct, decltype(release)> owner(png, release);
  png_init_io(png, file);
  png_set_compression_level(png, 6);
  png_set_IHDR(png, info, static_cast<png_uint_32>(canvas.width),
               static_cast<png_uint_32>(canvas.height), 8,
               canvas.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  auto metadata = options.metadata;
  std::vector<png_text> texts(metadata.size());
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    texts[i].compression = PNG_TEXT_COMPRESSION_NONE;
    texts[i].key = metadata[i].first.data();
    texts[i].text = metadata[i].second.data();
    texts[i].text_length = metadata[i].second.size();
  }
  png_set_text(png, info, texts.data(), static_cast<int>(texts.size()));
  png_write_info(png, info);
  for (std::int64_t y = 0; y < canvas.height; ++y) png_write_row(png, canvas.at(0, y));
  png_write_end(png, info);
}

}  // namespace

void write_png_grid(const std::filesystem::path& path, const PixelBatch& pixels,
                    std::span<const std::int32_t> labels, const GridOptions& options) {
  require(pixels.images > 0, "png: there is no image to draw");
  require(static_cast<std::int64_t>(labels.size()) == pixels.images,
          "png: one label per image is needed");
  require(options.zoom >= 1 && options.zoom <= 64, "png: zoom must be between 1 and 64");
  Canvas canvas = compose(pixels, labels, options);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    throw IoError("cannot write " + path.string() + ": " + std::strerror(errno) +
                  "; choose another --out");
  }
  try {
    encode(file, canvas, options);
  } catch (...) {
    std::fclose(file);
    throw;
  }
  if (std::fclose(file) != 0) {
    throw IoError("cannot finish " + path.string() + ": " + std::strerror(errno));
  }
}

}  // namespace ditar
