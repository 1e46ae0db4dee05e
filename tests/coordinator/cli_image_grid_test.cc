#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/image_grid.h"

#include <gtest/gtest.h>
#include <png.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace ditar {
namespace {

class ImageGridTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "ditar-grid-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::filesystem::path folder_;
};

TEST_F(ImageGridTest, RoundsAndClampsToBytes) {
  const std::vector<float> values = {-1.0F, 1.0F, 0.0F, 5.0F};
  const PixelBatch pixels = to_pixels(values, 1, 1, 2, 2);
  EXPECT_EQ(pixels.bytes, (std::vector<std::uint8_t>{0, 255, 128, 255}));
}

TEST_F(ImageGridTest, MovesChannelsLast) {
  const std::vector<float> values = {-1.0F, -1.0F, 0.0F, 0.0F, 1.0F, 1.0F};
  const PixelBatch pixels = to_pixels(values, 1, 3, 1, 2);
  EXPECT_EQ(pixels.bytes, (std::vector<std::uint8_t>{0, 128, 255, 0, 128, 255}));
}

TEST_F(ImageGridTest, RefusesNonFiniteValues) {
  const std::vector<float> values = {0.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(to_pixels(values, 2, 1, 1, 1), InvalidArgument);
}

TEST_F(ImageGridTest, WritesTheSameBytesTwiceWithItsParameters) {
  const PixelBatch pixels = to_pixels(std::vector<float>(2 * 4 * 4, 0.5F), 2, 1, 4, 4);
  const std::vector<std::int32_t> labels = {3, 10};
  const GridOptions options{0, 2, {{"seed", "7"}, {"steps", "10"}}};
  write_png_grid(folder_ / "a.png", pixels, labels, options);
  write_png_grid(folder_ / "b.png", pixels, labels, options);
  const std::string bytes = read(folder_ / "a.png");
  EXPECT_EQ(bytes, read(folder_ / "b.png"));
  EXPECT_NE(bytes.find("seed"), std::string::npos);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(image.width, 2U * (4 * 2 + 6) + 6);
  png_image_free(&image);
}

TEST_F(ImageGridTest, NpzHoldsTheNumpyArrays) {
  const PixelBatch pixels = to_pixels(std::vector<float>(12, 1.0F), 3, 1, 2, 2);
  write_npz(folder_ / "x.npz", pixels, std::vector<std::int32_t>{1, 2, 3});
  const std::string bytes = read(folder_ / "x.npz");
  EXPECT_EQ(bytes.substr(0, 4), std::string("PK\x03\x04"));
  EXPECT_NE(bytes.find("'shape': (3, 2, 2, 1)"), std::string::npos);
  EXPECT_NE(bytes.find("arr_1.npy"), std::string::npos);
  const std::size_t data = bytes.find("\x93NUMPY");
  std::uint32_t stored = 0;
  for (int i = 3; i >= 0; --i) {
    stored = (stored << 8) | static_cast<std::uint8_t>(bytes[14 + static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + data), 128 + 12), stored);
}

TEST_F(ImageGridTest, AnUnwritablePathIsAnIoError) {
  const PixelBatch pixels = to_pixels(std::vector<float>(1, 0.0F), 1, 1, 1, 1);
  const std::vector<std::int32_t> labels = {1};
  EXPECT_THROW(write_png_grid(folder_ / "no" / "x.png", pixels, labels, {}), IoError);
  EXPECT_THROW(write_npz(folder_ / "no" / "x.npz", pixels, labels), IoError);
}

}  // namespace
}  // namespace ditar
