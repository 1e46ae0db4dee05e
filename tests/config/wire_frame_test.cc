#include "ditar/config/wire_frame.h"

#include "ditar/config/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace ditar {
namespace {

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::vector<std::byte> bytes_of(const Frame& frame) {
  return {frame.bytes().begin(), frame.bytes().end()};
}

FrameFault fault_of(MessageAssembler& assembler, std::span<const std::byte> frame) {
  try {
    (void)assembler.feed(frame);
  } catch (const FrameError& error) {
    return error.fault();
  }
  ADD_FAILURE() << "the frame was taken";
  return FrameFault::kLength;
}

/// Sets the CRC of a frame that was changed on purpose, as a peer with that fault would.
void seal(std::vector<std::byte>& frame) {
  const std::span<const std::byte> bytes(frame);
  const std::uint32_t crc = crc32c(bytes.subspan(60), crc32c(bytes.first(56)));
  std::memcpy(frame.data() + 56, &crc, sizeof crc);
}

TEST(Crc32cTest, MatchesThePublishedCheckValue) {
  const std::string text = "123456789";  // RFC 3720's polynomial: 0xE3069283
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text))), 0xE3069283U);
}

TEST(Crc32cTest, ContinuesOverParts) {
  const auto values = ramp(1000);
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_EQ(crc32c(bytes.subspan(17), crc32c(bytes.first(17))), crc32c(bytes));
}

TEST(WireFrameTest, CarriesASmallMessageInOneFrame) {
  const auto id = AttemptId::random();
  const auto values = ramp(16384);  // 64 KiB
  const auto frames = encode_frames(id, {MessageType::kRun, 7, R"({"a":1})", values});
  ASSERT_EQ(frames.size(), 1U);
  MessageAssembler assembler(id);
  const auto message = assembler.feed(frames[0].bytes());
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->type, MessageType::kRun);
  EXPECT_EQ(message->seq, 7U);
  EXPECT_EQ(message->meta, R"({"a":1})");
  EXPECT_EQ(message->bulk, values);
}

TEST(WireFrameTest, CutsALargeMessageIntoFramesOfAtMostOneMebibyte) {
  const auto id = AttemptId::random();
  const auto values = ramp(1'000'001);
  const auto frames = encode_frames(id, {MessageType::kResult, 9, "{}", values});
  EXPECT_EQ(frames.size(), 4U);
  MessageAssembler assembler(id);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_LE(frames[i].bytes().size(), kMaxFrameBytes);
    const auto message = assembler.feed(frames[i].bytes());
    ASSERT_EQ(message.has_value(), i + 1 == frames.size());
    if (message) {
      EXPECT_EQ(message->bulk, values);
    }
  }
}

TEST(WireFrameTest, NamesEachFault) {
  const auto id = AttemptId::random();
  const auto values = ramp(8);
  const auto good = bytes_of(encode_frames(id, {MessageType::kRun, 1, "{}", values})[0]);
  MessageAssembler assembler(id);
  const auto changed = [&](std::size_t at, int value, bool sealed) {
    auto frame = good;
    frame[at] = static_cast<std::byte>(value);
    if (sealed) seal(frame);
    return fault_of(assembler, frame);
  };
  EXPECT_EQ(changed(0, 'X', true), FrameFault::kMagic);
  EXPECT_EQ(changed(4, kProtocolVersion + 1, true), FrameFault::kVersion);
  EXPECT_EQ(changed(4, kProtocolVersion - 1, true), FrameFault::kVersion);
  EXPECT_EQ(changed(6, 99, true), FrameFault::kType);
  EXPECT_EQ(changed(6, 0, true), FrameFault::kType);
  EXPECT_EQ(changed(8, static_cast<int>(good[8]) ^ 1, true), FrameFault::kAttempt);
  EXPECT_EQ(changed(32, 200, true), FrameFault::kLength);
  EXPECT_EQ(changed(36, 250, true), FrameFault::kBulk);
  EXPECT_EQ(changed(40, 33, true), FrameFault::kBulk);
  EXPECT_EQ(changed(47, 1, true), FrameFault::kBulk);
  EXPECT_EQ(changed(48, 8, true), FrameFault::kBulk);
  EXPECT_EQ(changed(70, 77, false), FrameFault::kChecksum);
  EXPECT_EQ(fault_of(assembler, std::span(good).first(40)), FrameFault::kLength);
  EXPECT_EQ(fault_of(assembler, std::span(good).first(good.size() - 1)), FrameFault::kLength);
  EXPECT_TRUE(assembler.feed(good).has_value());
}

TEST(WireFrameTest, RefusesPartsOutOfOrderAndStartsAfresh) {
  const auto id = AttemptId::random();
  const auto values = ramp(700'000);
  const auto frames = encode_frames(id, {MessageType::kRun, 1, "{}", values});
  ASSERT_EQ(frames.size(), 3U);
  MessageAssembler assembler(id);
  EXPECT_EQ(fault_of(assembler, frames[1].bytes()), FrameFault::kBulk);
  EXPECT_FALSE(assembler.feed(frames[0].bytes()).has_value());
  EXPECT_EQ(fault_of(assembler, frames[2].bytes()), FrameFault::kBulk);
  EXPECT_FALSE(assembler.feed(frames[0].bytes()).has_value());
  EXPECT_EQ(fault_of(assembler, frames[0].bytes()), FrameFault::kBulk);
  EXPECT_FALSE(assembler.feed(frames[0].bytes()).has_value());
  EXPECT_FALSE(assembler.feed(frames[1].bytes()).has_value());
  EXPECT_TRUE(assembler.feed(frames[2].bytes()).has_value());
}

// Flipped bits and cut ends: every damage is a typed error, none is taken for a message.
TEST(WireFrameTest, RefusesDamageFrom500Seeds) {
  const auto id = AttemptId::random();
  const auto values = ramp(300);
  const auto good = bytes_of(encode_frames(id, {MessageType::kRun, 3, R"({"k":[1]})", values})[0]);
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto frame = good;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      frame[random() % frame.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    }
    if (random() % 3 == 0) frame.resize(random() % frame.size());
    if (random() % 5 == 0) frame.insert(frame.end(), random() % 50, std::byte{0});
    if (frame == good) continue;
    MessageAssembler assembler(id);
    EXPECT_THROW((void)assembler.feed(frame), FrameError);
  }
}

// The same damage under a valid CRC: never a crash, never more memory than the limit.
TEST(WireFrameTest, SurvivesSealedDamageFrom500Seeds) {
  const auto id = AttemptId::random();
  const auto values = ramp(300);
  const auto good = bytes_of(encode_frames(id, {MessageType::kRun, 3, R"({"k":[1]})", values})[0]);
  int refused = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    auto frame = good;
    frame[random() % 60] ^= static_cast<std::byte>(1U << (random() % 8));
    seal(frame);
    MessageAssembler assembler(id);
    try {
      const auto message = assembler.feed(frame);
      if (message) {
        EXPECT_LE(message->bulk.size(), values.size() + 3);
      }
    } catch (const FrameError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(AttemptIdTest, SurvivesItsTextAndRefusesOthers) {
  const auto id = AttemptId::random();
  EXPECT_EQ(AttemptId::parse(id.hex()), id);
  EXPECT_NE(AttemptId::random(), id);
  EXPECT_THROW((void)AttemptId::parse("abc"), InvalidArgument);
  EXPECT_THROW((void)AttemptId::parse(std::string(32, 'G')), InvalidArgument);
}

}  // namespace
}  // namespace ditar
