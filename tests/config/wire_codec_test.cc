#include "ditar/config/wire_codec.h"

#include "ditar/config/wire_frame.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace ditar {
namespace {

RunRequest sample_request() {
  RunRequest request;
  request.nonce = std::numeric_limits<std::uint64_t>::max();
  request.images = 2;
  request.channels = 1;
  request.height = 2;
  request.width = 3;
  request.labels = {3, 9};
  request.schedule = {"dpmpp2m", {999, 500, 0}, 1.5, 3, 0.25, 0xFFFFFFFFFFFFFFFEULL};
  return request;
}

template <typename T>
std::string message_of(std::string_view text) {
  try {
    (void)decode_meta<T>(text);
  } catch (const FrameError& error) {
    EXPECT_EQ(error.fault(), FrameFault::kMeta);
    return error.message();
  }
  return "taken";
}

TEST(WireCodecTest, RoundTripsARequest) {
  const auto request = sample_request();
  EXPECT_EQ(decode_meta<RunRequest>(encode_meta(request)), request);
}

TEST(WireCodecTest, RoundTripsHelloAndReports) {
  GroupHello hello;
  hello.nonce = "n";
  hello.ranks = {{0, 2, "host", 77, "GPU-1", "RTX A5500", {0, 1}, 2, "passive"},
                 {1, 2, "host", 78, "cpu", "", {}, 1, ""}};
  const auto back = decode_meta<GroupHello>(encode_meta(hello));
  ASSERT_EQ(back.ranks.size(), 2U);
  EXPECT_EQ(back.ranks[0].cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(back.ranks[1].pid, 78);
  ResultMeta result{5, {{1, 2.5, 3, 4, 5, {{"denoise", 1.25, 10, 1e12, 2e9}}}}};
  const auto result_back = decode_meta<ResultMeta>(encode_meta(result));
  EXPECT_EQ(result_back.ranks, result.ranks);
}

TEST(WireCodecTest, NamesMissingUnknownDuplicateAndWronglyTypedKeys) {
  const std::string good = R"({"phase":"run","steps":[1,2]})";
  EXPECT_EQ(message_of<ProgressReport>(good), "taken");
  EXPECT_NE(message_of<ProgressReport>(R"({"phase":"run"})").find("\"steps\" is missing"),
            std::string::npos);
  EXPECT_NE(message_of<ProgressReport>(R"({"phase":"run","steps":[1],"x":1})").find("not know"),
            std::string::npos);
  EXPECT_NE(message_of<ProgressReport>(R"({"phase":"a","phase":"run","steps":[1]})").find("twice"),
            std::string::npos);
  for (const char* text :
       {R"({"phase":1,"steps":[1]})", R"({"phase":"run","steps":1})",
        R"({"phase":"run","steps":[-1]})", R"({"phase":"run","steps":[1.5]})",
        R"({"phase":"run","steps":["1"]})", R"({"phase":"run","steps":[99999999999999999999]})",
        R"([1])", R"({"phase":"run","steps":[1]} 2)", "", "null",
        "{\"phase\":\"\xff\",\"steps\":[]}"}) {
    EXPECT_NE(message_of<ProgressReport>(text), "taken") << text;
  }
}

TEST(WireCodecTest, RefusesNumbersOutOfRangeAndNotFinite) {
  const std::string report =
      R"({"rank":0,"milliseconds":MS,"planned_bytes":0,"peak_bytes":0,"resident_bytes":0,"phases":[]})";
  const auto with = [&](const std::string& ms) {
    auto text = report;
    return text.replace(text.find("MS"), 2, ms);
  };
  EXPECT_EQ(message_of<RankReport>(with("-0.0")), "taken");
  for (const char* bad : {"NaN", "1e999", "Infinity", "null"}) {
    EXPECT_NE(message_of<RankReport>(with(bad)), "taken") << bad;
  }
  EXPECT_NE(message_of<RankReport>(
                R"({"rank":3000000000,"milliseconds":1,"planned_bytes":0,"peak_bytes":0,)"
                R"("resident_bytes":0,"phases":[]})")
                .find("out of range"),
            std::string::npos);
}

TEST(WireCodecTest, SurvivesDamagedTextFrom500Seeds) {
  const std::string good = encode_meta(sample_request());
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    auto text = good;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      text[random() % text.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    if (random() % 3 == 0) text.resize(random() % text.size());
    try {
      (void)decode_meta<RunRequest>(text);
    } catch (const FrameError& error) {
      EXPECT_EQ(error.fault(), FrameFault::kMeta) << seed;
    }
  }
}

TEST(WireCodecTest, ChecksARequestsCounts) {
  auto request = sample_request();
  request.latents.resize(12);
  EXPECT_NO_THROW(check_request(request));
  request.latents.resize(11);
  EXPECT_THROW(check_request(request), InvalidArgument);
  request.latents.resize(12);
  request.labels.push_back(1);
  EXPECT_THROW(check_request(request), InvalidArgument);
  request = sample_request();
  request.images = std::int64_t{1} << 62;
  request.height = std::int64_t{1} << 62;
  EXPECT_THROW(check_request(request), InvalidArgument);
}

}  // namespace
}  // namespace ditar
