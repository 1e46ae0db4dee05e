#include "ditar/config/safetensors.h"

#include "ditar/config/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace ditar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("ditar-st-" + std::to_string(::getpid()) + ".safetensors");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void write_raw(const std::string& header, std::size_t payload, std::uint64_t claimed) {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&claimed), 8);
    out << header << std::string(payload, '\1');
  }
  void write_raw(const std::string& header, std::size_t payload) {
    write_raw(header, payload, header.size());
  }
  std::string fault() {
    try {
      const SafetensorsFile file(path_);
    } catch (const DataError& error) {
      EXPECT_THAT(error.message(), HasSubstr(path_.string()));
      return error.message();
    }
    return "accepted";
  }
  std::filesystem::path path_;
};

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

TEST_F(SafetensorsTest, RoundTripsEveryTypeAndScalars) {
  const std::vector<double> f64{1.5, -2.25};
  const std::vector<float> f32{3.5f};
  const std::vector<std::uint16_t> f16{0x3c00, 0xc000, 0x0001, 0x7bff};
  const std::vector<std::uint16_t> bf16{0x3f80, 0xc040};
  const std::vector<std::int8_t> i8{-3, 7, 9};
  const std::vector<SafetensorsItem> items{
      {"odd", StoredType::kI8, {3}, bytes_of(i8)},  // everything after lies at an odd address
      {"d", StoredType::kF64, {2, 1}, bytes_of(f64)},
      {"scalar", StoredType::kF32, {}, bytes_of(f32)},
      {"h", StoredType::kF16, {4}, bytes_of(f16)},
      {"b", StoredType::kBF16, {2}, bytes_of(bf16)},
      {"empty", StoredType::kF32, {0, 4}, {}}};
  write_safetensors(path_, items, {{"steps", "17"}});
  const SafetensorsFile file(path_);
  EXPECT_EQ(file.metadata().at("steps"), "17");
  EXPECT_EQ(file.entries().size(), 6u);
  EXPECT_THAT(read_i64(file.at("odd")), ElementsAre(-3, 7, 9));
  EXPECT_THAT(read_f64(file.at("d")), ElementsAre(1.5, -2.25));
  EXPECT_THAT(read_f32(file.at("d")), ElementsAre(1.5f, -2.25f));
  EXPECT_THAT(read_f32(file.at("scalar")), ElementsAre(3.5f));
  EXPECT_TRUE(file.at("scalar").shape.empty());
  EXPECT_THAT(read_f32(file.at("h")), ElementsAre(1.0f, -2.0f, std::ldexp(1.0f, -24), 65504.0f));
  EXPECT_THAT(read_f64(file.at("b")), ElementsAre(1.0, -3.0));
  EXPECT_EQ(read_f32(file.at("empty")).size(), 0u);
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST_F(SafetensorsTest, RefusesWrongSizesAndOffsets) {
  write_raw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7);
  EXPECT_THAT(fault(), HasSubstr("truncated"));
  write_raw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9);
  EXPECT_THAT(fault(), HasSubstr("after the last tensor"));
  write_raw(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(fault(), HasSubstr("needs 12 bytes but has 8"));
  write_raw(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
            R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6);
  EXPECT_THAT(fault(), HasSubstr("overlap"));
  write_raw(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
            6);
  EXPECT_THAT(fault(), HasSubstr("hole"));
  write_raw(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", 2);
  EXPECT_THAT(fault(), HasSubstr("ends before it begins"));
  write_raw(R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
  EXPECT_THAT(fault(), HasSubstr("overflows"));
  write_raw(R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("overflows"));
}

TEST_F(SafetensorsTest, RefusesBadHeaders) {
  write_raw("{}", 0, std::uint64_t{1} << 63);
  EXPECT_THAT(fault(), HasSubstr("more than the limit"));
  write_raw("{}", 0, 4000);
  EXPECT_THAT(fault(), HasSubstr("truncated"));
  std::ofstream(path_, std::ios::trunc) << "abc";
  EXPECT_THAT(fault(), HasSubstr("shorter than the 8 bytes"));
  std::ofstream(path_, std::ios::trunc) << "";
  EXPECT_THAT(fault(), HasSubstr("shorter than the 8 bytes"));
  write_raw("[]", 0);
  EXPECT_THAT(fault(), HasSubstr("does not start with '{'"));
  write_raw(R"({"a":)", 0);
  EXPECT_THAT(fault(), HasSubstr("not valid JSON"));
  write_raw(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
            1);
  EXPECT_THAT(fault(), HasSubstr("\"a\" twice"));
  write_raw(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("\"dtype\" twice"));
}

TEST_F(SafetensorsTest, RefusesBadEntries) {
  write_raw(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("\"F8\", which is not supported"));
  write_raw(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("not a whole number"));
  write_raw(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1e30]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("not a whole number"));
  write_raw(R"({"a":{"dtype":"U8","shape":[1]}})", 1);
  EXPECT_THAT(fault(), HasSubstr("exactly dtype, shape and data_offsets"));
  write_raw(R"({"__metadata__":{"x":3}})", 0);
  EXPECT_THAT(fault(), HasSubstr("not text"));
}

TEST_F(SafetensorsTest, NamesMissingKeysAndWrongShapes) {
  const std::vector<double> big{1e300};
  const std::vector<SafetensorsItem> items{{"w", StoredType::kF64, {1}, bytes_of(big)}};
  write_safetensors(path_, items);
  const SafetensorsFile file(path_);
  EXPECT_THROW(file.at("v"), DataError);
  const std::vector<std::int64_t> wanted{2, 3};
  try {
    file.at("w", wanted);
    FAIL() << "a wrong shape was accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.message(), HasSubstr("has the shape [1] where [2, 3] is needed"));
  }
  EXPECT_THROW(read_f32(file.at("w")), DataError);  // does not fit FP32
  EXPECT_THROW(read_i64(file.at("w")), DataError);
  EXPECT_THROW(SafetensorsFile("/nonexistent/file"), IoError);
}

TEST_F(SafetensorsTest, WriterRefusesWrongSizesAndDoubleNames) {
  const std::vector<float> one{1.0f};
  const SafetensorsItem good{"w", StoredType::kF32, {1}, bytes_of(one)};
  const std::vector<SafetensorsItem> twice{good, good};
  EXPECT_THROW(write_safetensors(path_, twice), InvalidArgument);
  const std::vector<SafetensorsItem> wrong{{"w", StoredType::kF32, {2}, bytes_of(one)}};
  EXPECT_THROW(write_safetensors(path_, wrong), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Any flipped byte of the header or a cut anywhere must end in a named error or in a valid file,
// never in undefined behaviour (the sanitizer presets watch).
TEST_F(SafetensorsTest, SurvivesDamageAnywhere) {
  const std::vector<float> values{1, 2, 3, 4};
  const std::vector<SafetensorsItem> items{
      {"a", StoredType::kF32, {2, 1}, bytes_of(values).first(8)},
      {"b", StoredType::kF32, {2}, bytes_of(values).last(8)}};
  write_safetensors(path_, items);
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, i);
    EXPECT_NE(fault(), "accepted") << "cut at " << i;
    for (const char flip : {'\x01', '\x20', '\x7f'}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
      refused += fault() != "accepted" ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ditar
