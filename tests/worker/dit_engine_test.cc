#include "dit_engine_requests.h"
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/parallel/pulse.h"
#include "ditar/worker/engine.h"
#include "test_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(DitEngineTest, ReportsWhatItLoaded) {
  const auto engine = load();
  const ModelFacts facts = engine->facts();
  EXPECT_EQ(facts.layout, "official");
  EXPECT_EQ(facts.parity, "official");
  EXPECT_EQ(facts.hidden, 72);
  EXPECT_EQ(facts.classes, 10);
  EXPECT_EQ(engine->plan(), "single");
  EXPECT_THAT(engine->knobs_json(), HasSubstr("\"step_cache_interval\":1"));
  const std::int64_t loaded = engine->peak_bytes();
  generate(*engine, {});
  EXPECT_GT(engine->planned_bytes(), loaded);
  EXPECT_EQ(engine->peak_bytes(), engine->planned_bytes());
  std::vector<std::string> names;
  for (const PhaseRecord& record : engine->take_phases()) names.push_back(record.name);
  // 3 images in two branches of 16 tokens, hidden 72.
  EXPECT_THAT(names, ::testing::IsSupersetOf({"load", "transfer", "denoise/linear 96x216x72",
                                              "denoise/attention", "denoise/sampler"}));
  EXPECT_TRUE(engine->take_phases().empty());
}

TEST(DitEngineTest, TellsOfEveryOp) {
  const auto page = std::make_shared<PulsePage>();
  const PulseBinding binding(page);
  const auto engine = load();
  generate(*engine, {});
  const auto seen = read_pulse(*page, std::chrono::steady_clock::now());
  EXPECT_EQ(seen.op, "handing in the result");
  EXPECT_GE(seen.ticks, 4 * (2 + 5 * static_cast<std::uint64_t>(engine->facts().depth)));
}

TEST(DitEngineTest, RepeatsItsBitsAndFeelsSeedLabelAndGuidance) {
  const auto engine = load();
  const Request request{.sampler = SamplerKind::kDdpm};
  const std::vector<float> first = generate(*engine, request);
  EXPECT_EQ(generate(*engine, request), first);
  Request other = request;
  other.seed = 6;
  EXPECT_NE(generate(*engine, other), first);
  other = request;
  other.guidance = 2.0;
  EXPECT_NE(generate(*engine, other), first);
  const std::vector<float> images = generate(*engine, {.first = 1});
  EXPECT_NE(images, generate(*engine, {}));
}

TEST(DitEngineTest, ImageDoesNotDependOnItsBatch) {
  const auto engine = load();
  for (const std::int64_t images : {1, 2, 5, 9}) {
    const std::vector<float> together = generate(*engine, {.images = images});
    for (const std::int64_t i : {std::int64_t{0}, images - 1}) {
      const std::vector<float> alone = generate(*engine, {.images = 1, .first = i});
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * 256))
          << "image " << i << " of " << images;
    }
  }
}

#ifndef __SANITIZE_THREAD__  // libgomp's barriers are invisible to the sanitizer
TEST(DitEngineTest, BitsDoNotDependOnThreads) {
  const std::vector<float> one = single({});
  for (const int threads : {2, 3}) {
    EngineOptions options;
    options.threads = threads;
    EXPECT_EQ(generate(*load(options), {}), one) << threads;
  }
}
#endif

TEST(DitEngineTest, Fp32FollowsFp64) {
  for (const SamplerKind sampler :
       {SamplerKind::kDdim, SamplerKind::kDdpm, SamplerKind::kDpmSolverPlusPlus2M}) {
    const std::vector<float> a = single({.sampler = sampler});
    const std::vector<float> b = single({.sampler = sampler}, Precision::kF64);
    double error = 0.0, norm = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      error += std::pow(static_cast<double>(a[i]) - b[i], 2);
      norm += std::pow(static_cast<double>(b[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / norm), 5e-5) << to_string(sampler);
    EXPECT_GT(error, 0.0) << "the two precisions must not be one";
  }
}

std::string fault(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

TEST(DitEngineTest, RefusesRequestsThatDoNotFit) {
  const auto engine = load();
  const auto prepare = [&](RequestShape shape, std::vector<std::int32_t> labels) {
    return fault([&] {
      RequestSchedule schedule;
      schedule.timesteps = {10};
      engine->prepare(shape, schedule, labels);
    });
  };
  EXPECT_EQ(prepare({1, 4, 8, 8}, {10}), "accepted");
  EXPECT_THAT(prepare({1, 4, 16, 16}, {0}), HasSubstr("makes latents of 4x8x8, but 4x16x16"));
  EXPECT_THAT(prepare({0, 4, 8, 8}, {}), HasSubstr("at least one image"));
  EXPECT_THAT(prepare({2, 4, 8, 8}, {0}), HasSubstr("1 labels were given for 2 images"));
  EXPECT_THAT(prepare({1, 4, 8, 8}, {11}), HasSubstr("label 11 is outside 0..10"));
  EXPECT_THAT(prepare({1, 4, 8, 8}, {-1}), HasSubstr("label -1"));
  EXPECT_THAT(fault([&] { engine->set_latents(std::vector<float>(7)); }), HasSubstr("7 values"));
  EXPECT_THAT(fault([&] { engine->step(1); }), HasSubstr("outside the prepared schedule"));
}

TEST(DitEngineTest, RefusesOptionsThatDoNotFit) {
  const auto with = [](auto change) {
    EngineOptions options;
    change(options);
    return fault([&] { load(options); });
  };
  EXPECT_THAT(with([](EngineOptions& o) { o.device = "cuda:0"; }), HasSubstr("cuda:0"));
  for (const Precision precision : {Precision::kTf32, Precision::kF16, Precision::kBF16}) {
    EXPECT_THAT(with([&](EngineOptions& o) { o.precision = precision; }),
                HasSubstr(std::string(to_string(precision)) + " is not available on the cpu"));
  }
  EXPECT_THAT(with([](EngineOptions& o) { o.plan = "split=2"; }), HasSubstr("not a factor"));
  EXPECT_THAT(with([](EngineOptions& o) { o.plan = "data=2"; }),
              HasSubstr("more ranks than there are (1)"));
  EXPECT_THAT(with([](EngineOptions& o) { o.memory_cap_bytes = 1000; }),
              HasSubstr("the cap is 1000"));
  EXPECT_THAT(with([](EngineOptions& o) { o.knobs_path = "/nonexistent.json"; }),
              HasSubstr("cannot be read"));
}

class DitKnobTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  std::unique_ptr<Engine> with(const std::string& text) {
    std::ofstream(path_, std::ios::trunc) << text;
    EngineOptions options;
    options.knobs_path = path_;
    return load(options);
  }
  const fs::path path_ = fs::temp_directory_path() / ("ditar-knobs-" + std::to_string(::getpid()));
};

TEST_F(DitKnobTest, ExactKnobsKeepTheBits) {
  const std::vector<float> plain = single({});
  for (const char* text : {R"({"fuse_gate_norm":false})", R"({"share_patch_embed":false})",
                           R"({"modulation_table_mib":1})", R"({"modulation_table_mib":0})",
                           R"({"batch_guidance":false})", "{}"}) {
    EXPECT_EQ(generate(*with(text), {}), plain) << text;
  }
}

TEST_F(DitKnobTest, ApproximationsChangeTheResultAndShowInTheReceipt) {
  const std::vector<float> plain = single({});
  for (const char* knob : {"\"step_cache_interval\":2", "\"step_stride\":2",
                           "\"int8_weights\":true", "\"int8_products\":true"}) {
    const auto engine = with("{" + std::string(knob) + "}");
    EXPECT_NE(generate(*engine, {}), plain) << knob;
    EXPECT_THAT(engine->knobs_json(), HasSubstr(knob));
  }
}

TEST_F(DitKnobTest, RefusesUnknownKeysAndRanges) {
  EXPECT_THAT(fault([&] { with(R"({"step_cash_interval":2})"); }),
              HasSubstr("nearest valid key is \"step_cache_interval\""));
  EXPECT_THAT(fault([&] { with(R"({"step_stride":0})"); }), HasSubstr("give 1 to 1000"));
  EXPECT_THAT(fault([&] { with(R"({"int8_weights":1})"); }), HasSubstr("must be true or false"));
}

// Whatever config/engine.json turns on or off, it must leave the result's bits alone.
TEST_F(DitKnobTest, ShippedKnobsAreExact) {
  EngineOptions options;
  options.knobs_path = std::string(DITAR_SOURCE_DIR) + "/config/engine.json";
  const auto engine = load(options);
  EXPECT_EQ(generate(*engine, {}), single({}));
  for (const char* off : {"\"step_cache_interval\":1", "\"step_stride\":1",
                          "\"int8_weights\":false", "\"int8_products\":false"}) {
    EXPECT_THAT(engine->knobs_json(), HasSubstr(off));
  }
}

TEST(DitEngineTest, AProfileAccountsForTheWholeStep) {
  const auto engine = load();
  EXPECT_THAT(fault([&] { engine->profile_step(0, 3); }), HasSubstr("prepare"));
  generate(*engine, {});
  const std::vector<float> before = generate(*engine, {});
  engine->take_phases();
  const StepProfile profile = engine->profile_step(1, 3);
  EXPECT_GT(profile.matmul_flops_per_s, 0.0);
  EXPECT_GT(profile.copy_bytes_per_s, 0.0);
  double sum = 0.0;
  std::map<std::string, PhaseRecord> groups;
  for (const PhaseRecord& group : profile.groups) {
    sum += group.milliseconds;
    groups[group.name] = group;
  }
  EXPECT_NEAR(sum, profile.step_ms, 1e-9 * profile.step_ms);
  EXPECT_EQ(profile.groups.back().name, "gaps");
  EXPECT_GE(profile.groups.back().milliseconds, 0.0) << "more time in the parts than in the whole";
  const PhaseRecord& qkv = groups.at("linear 96x216x72");
  const std::int64_t depth = engine->facts().depth;
  EXPECT_EQ(qkv.calls, depth);
  EXPECT_DOUBLE_EQ(qkv.flops, static_cast<double>(depth) * 2 * 96 * 216 * 72);
  EXPECT_DOUBLE_EQ(qkv.bytes, static_cast<double>(depth) * 4 * (96 * 72 + 216 * 72 + 96 * 216));
  EXPECT_EQ(groups.at("norm").calls, 2 * depth + 1);
  EXPECT_TRUE(engine->take_phases().empty()) << "a profile leaves no records";
  EXPECT_EQ(generate(*engine, {}), before) << "a profile leaves the engine as it was";
}

// A weight too large for the arithmetic must be named by layer and step, not end in a black image.
TEST(DitEngineTest, NamesLayerAndStepOfWhatIsNotFinite) {
  const fs::path path =
      fs::temp_directory_path() / ("ditar-nan-" + std::to_string(::getpid()) + ".safetensors");
  write_poisoned_model(path);
  EngineOptions options;
  options.model_path = path;
  const auto engine = load(options);
  const std::string text = fault([&] { generate(*engine, {}); });
  EXPECT_THAT(text, HasSubstr("step 0 (timestep 999)"));
  EXPECT_THAT(text, HasSubstr("blocks.1.mlp.fc1"));
  fs::remove(path);
}

}  // namespace
}  // namespace ditar
