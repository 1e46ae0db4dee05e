// The engine and the judge against the table that PyTorch made of the shipped MNIST pair: from the
// same noise almost the same scores, from other noise scores of the same distribution.
//   DITAR_JUDGE_TABLE=FILE     another table than the committed one, of any number of images
//   DITAR_JUDGE_DEVICE=cuda:0  the engine on a GPU, in FP16
#include "dit_engine.h"
#include "ditar/config/philox.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/quality/judge.h"
#include "ditar/coordinator/quality/scores.h"
#include "golden_data.h"
#include "noise_schedule.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t kBatch = 100;       ///< images per request
constexpr std::size_t kTableCount = 4000;  ///< images that the tolerances are for
constexpr int kClasses = 10;
constexpr const char* kRemake =
    "python3 scripts/golden/make_judge_table.py --dit config/models/mnist-dit.safetensors "
    "--judge config/models/mnist-judge.safetensors --out tests/golden/data/judge_table.json";

fs::path model_file(const char* name) {
  return fs::path(DITAR_SOURCE_DIR) / "config/models" / name;
}

struct Row {
  int steps;
  double guidance;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.steps << " steps at guidance " << row.guidance;
}

struct Scores {
  double accuracy = 0.0, frechet = 0.0;
};

class JudgeTableTest : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    const char* other = std::getenv("DITAR_JUDGE_TABLE");
    const fs::path path =
        other != nullptr ? fs::path(other) : golden::data_path("judge_table.json");
    if (!fs::exists(path)) {
      ASSERT_EQ(other, nullptr) << path << " (DITAR_JUDGE_TABLE) is not there";
      GTEST_SKIP() << "no table of the shipped pair is committed; make it: " << kRemake;
    }
    table_ = Json::parse(std::ifstream(path));
    ASSERT_EQ(table_.at("dit_sha256"), sha256_file(model_file("mnist-dit.safetensors")))
        << "the weights changed; run " << kRemake;
    ASSERT_EQ(table_.at("judge_sha256"), sha256_file(model_file("mnist-judge.safetensors")))
        << "the judge changed; run " << kRemake;
    ASSERT_EQ(table_.at("rows").size(), 5U) << path;
    count_ = table_.at("count");
    ASSERT_TRUE(other != nullptr || count_ == kTableCount)
        << path << " is of " << count_ << " images; run " << kRemake;
    for (const Json& row : table_.at("rows")) {
      if (row.at("steps") == GetParam().steps && row.at("guidance") == GetParam().guidance) {
        golden_ = {row.at("accuracy"), row.at("frechet")};
        return;
      }
    }
    FAIL() << path << " lacks the row; run " << kRemake;
  }

  /// (count, 28, 28), image by image as the engine draws initial noise.
  std::vector<float> draw_noise(std::uint64_t seed) const {
    std::vector<float> noise(count_ * Judge::kPixels);
    for (std::size_t n = 0; n < count_; ++n) {
      philox_normal(seed, n, 0, std::span(noise).subspan(n * Judge::kPixels, Judge::kPixels));
    }
    return noise;
  }

  static std::unique_ptr<Engine> load_engine() {
    EngineOptions options;
    options.model_path = model_file("mnist-dit.safetensors");
    if (const char* device = std::getenv("DITAR_JUDGE_DEVICE")) {
      options.device = device;
      options.precision = Precision::kF16;
    }
    return std::make_unique<DitEngine>(Checkpoint::open(options.model_path), options, Knobs{},
                                       nullptr);
  }

  /// Makes the row's images in place of their noise and lets the judge read them.
  Scores generate_and_score(std::vector<float> images) const {
    const auto engine = load_engine();
    RequestSchedule schedule;
    schedule.timesteps = ddim_timesteps(GetParam().steps);
    schedule.guidance = GetParam().guidance;
    std::vector<std::int32_t> labels(count_);
    for (std::size_t n = 0; n < count_; ++n) labels[n] = static_cast<std::int32_t>(n % kClasses);
    for (std::size_t first = 0; first < count_; first += kBatch) {
      const std::size_t now = std::min<std::size_t>(kBatch, count_ - first);
      const auto part = std::span(images).subspan(first * Judge::kPixels, now * Judge::kPixels);
      engine->prepare({static_cast<std::int64_t>(now), 1, Judge::kSide, Judge::kSide}, schedule,
                      std::span(labels).subspan(first, now));
      engine->set_latents(part);
      for (std::int64_t k = 0; k < GetParam().steps; ++k) engine->step(k);
      engine->read_latents(part);
    }
    for (float& pixel : images) pixel = std::clamp(pixel, -1.0F, 1.0F);
    const Judge judge(model_file("mnist-judge.safetensors"));
    const ScoredSet scored = judge.score(images, labels);
    return {accuracy(scored), required_score("frechet", scored, judge.reference())};
  }

  void expect_close(const Scores& ours, double accuracy_tolerance, double frechet_tolerance) const {
    EXPECT_NEAR(ours.accuracy, golden_.accuracy, accuracy_tolerance);
    EXPECT_NEAR(ours.frechet, golden_.frechet, frechet_tolerance);
    RecordProperty("accuracy", std::to_string(ours.accuracy));
    RecordProperty("frechet", std::to_string(ours.frechet));
  }

  Json table_;
  std::size_t count_ = 0;
  Scores golden_;
};

TEST_P(JudgeTableTest, SameNoiseGivesTheSameScores) {
  std::vector<float> noise = draw_noise(table_.at("seed"));
  ASSERT_EQ(table_.at("noise_sha256"), sha256_hex(std::as_bytes(std::span(noise))))
      << "the two programs drew other noise: scripts/golden/philox.py and philox.h differ";
  expect_close(generate_and_score(std::move(noise)), 0.002, 0.02);
}

TEST_P(JudgeTableTest, OtherNoiseGivesScoresOfTheSameDistribution) {
  if (count_ != kTableCount) {
    GTEST_SKIP() << "the table is of " << count_ << " images, the tolerances are for "
                 << kTableCount;
  }
  const std::uint64_t seed = table_.at("seed");
  const double accuracy_tolerance = GetParam().guidance == 1.0 ? 0.02 : 0.01;
  expect_close(generate_and_score(draw_noise(seed + 1)), accuracy_tolerance, 0.4);
}

INSTANTIATE_TEST_SUITE_P(Mnist, JudgeTableTest,
                         ::testing::Values(Row{10, 1.5}, Row{20, 1.0}, Row{20, 1.5}, Row{20, 2.0},
                                           Row{50, 1.5}),
                         [](const auto& test) {
                           return std::to_string(test.param.steps) + "_steps_guidance_" +
                                  std::to_string(static_cast<int>(test.param.guidance * 10)) +
                                  "_tenths";
                         });

}  // namespace
}  // namespace ditar
