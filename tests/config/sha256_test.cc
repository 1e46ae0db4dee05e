#include "ditar/config/sha256.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ditar {
namespace {

// FIPS 180-4 examples.
TEST(Sha256Test, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesEqualTheWhole) {
  Sha256 hasher;
  hasher.update("ab");
  hasher.update("c");
  EXPECT_EQ(hasher.hex(), sha256_hex(std::string_view("abc")));
}

TEST(Sha256Test, MissingFileIsAnIoErrorThatNamesIt) {
  try {
    sha256_file("/nonexistent/file");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(error.message().find("/nonexistent/file"), std::string::npos);
  }
}

}  // namespace
}  // namespace ditar
