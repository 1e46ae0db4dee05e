#include "ditar/config/error.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(ErrorTest, NamesThePlaceInWhatAndKeepsTheMessageClean) {
  const InvalidArgument error("bad thing: do this");
  EXPECT_EQ(error.message(), "bad thing: do this");
  EXPECT_NE(std::string(error.what()).find("error_test.cc:"), std::string::npos);
}

TEST(ErrorTest, EachKindHasItsExitCode) {
  EXPECT_EQ(ConfigError("x").exit_code(), ExitCode::kConfig);
  EXPECT_EQ(DataError("x").exit_code(), ExitCode::kData);
  EXPECT_EQ(IoError("x").exit_code(), ExitCode::kIo);
  EXPECT_EQ(TransportError("x").exit_code(), ExitCode::kProtocol);
  EXPECT_EQ(TimeoutError("x").exit_code(), ExitCode::kTemporary);
}

TEST(ErrorTest, RequireThrowsOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "never"));
  EXPECT_THROW(require(false, "always"), InvalidArgument);
}

}  // namespace
}  // namespace ditar
