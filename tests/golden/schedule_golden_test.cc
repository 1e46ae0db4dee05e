// Schedules and sampler scalars against tables made by an independent NumPy implementation.
#include "ditar/config/error.h"
#include "golden_data.h"
#include "noise_schedule.h"
#include "sampler_plan.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

constexpr double kTolerance = 1e-12;

const SafetensorsFile& tables() {
  static const SafetensorsFile file(golden::data_path("tables.safetensors"));
  return file;
}

void expect_close(const std::vector<double>& ours, const std::vector<double>& golden,
                  const std::string& what) {
  ASSERT_EQ(ours.size(), golden.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], golden[i], kTolerance * std::max(1.0, std::abs(golden[i])))
        << what << " at " << i;
  }
}

TEST(ScheduleGoldenTest, BetasAndAlphaBarsMatch) {
  expect_close(linear_betas(), read_f64(tables().at("betas")), "betas");
  expect_close(alpha_bars(linear_betas()), read_f64(tables().at("alpha_bars")), "alpha_bars");
}

TEST(ScheduleGoldenTest, RespacingsMatch) {
  int compared = 0;
  for (const SafetensorsEntry& entry : tables().entries()) {
    if (entry.name.starts_with("respaced.")) {
      EXPECT_EQ(respaced_timesteps(entry.name.substr(9)), golden::read_i32(tables(), entry.name))
          << entry.name;
      ++compared;
    }
    if (entry.name.starts_with("ddim_timesteps.")) {
      EXPECT_EQ(ddim_timesteps(std::stoll(entry.name.substr(15))),
                golden::read_i32(tables(), entry.name))
          << entry.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20);
}

TEST(ScheduleGoldenTest, RefusesImpossibleRespacings) {
  for (const char* text : {"", "0", "-3", "ddim", "ddim999", "x", "10,,3", "500,501", "10 "}) {
    EXPECT_THROW(respaced_timesteps(text), InvalidArgument) << text;
  }
  EXPECT_THROW(ddim_timesteps(0), InvalidArgument);
  EXPECT_THROW(ddim_timesteps(1001), InvalidArgument);
}

struct StepCase {
  const char* output;
  SamplerKind sampler;
  double eta;
  Parity parity;
};
void PrintTo(const StepCase& test, std::ostream* out) { *out << test.output; }

class SamplerGoldenTest : public ::testing::TestWithParam<std::tuple<std::string, StepCase>> {};

TEST_P(SamplerGoldenTest, EveryStepMatches) {
  const auto& [name, test] = GetParam();
  const std::string prefix = "step." + name + ".";
  if (tables().find(prefix + test.output) == nullptr) {
    GTEST_SKIP() << "a single step has no posterior variance in the published code";
  }
  RequestSchedule schedule;
  schedule.sampler = test.sampler;
  schedule.eta = test.eta;
  schedule.timesteps = golden::read_i32(tables(), prefix + "timesteps");
  const SamplerPlan plan = plan_sampler(schedule, true, test.parity);
  const auto x = read_f64(tables().at(prefix + "x"));
  const auto eps = read_f64(tables().at(prefix + "eps"));
  const auto v = read_f64(tables().at(prefix + "v"));
  const auto noise = read_f64(tables().at(prefix + "noise"));
  const auto history = read_f64(tables().at(prefix + "history"));
  std::vector<double> ours, x0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const SamplerStep& step = plan.steps[i / 8];
    double scale = step.noise_scale;
    if (plan.variance == VarianceKind::kLearnedRange && i / 8 + 1 < plan.steps.size()) {
      const double frac = (v[i] + 1.0) / 2.0;
      scale = std::exp(0.5 * (frac * step.max_log + (1.0 - frac) * step.min_log));
    }
    ours.push_back(step.keep * x[i] + step.eps_scale * eps[i] + step.history * history[i] +
                   scale * noise[i]);
    x0.push_back(step.x0_keep * x[i] + step.x0_eps * eps[i]);
  }
  expect_close(ours, read_f64(tables().at(prefix + test.output)), prefix + test.output);
  if (test.sampler == SamplerKind::kDpmSolverPlusPlus2M) {
    expect_close(x0, read_f64(tables().at(prefix + "dpmpp_x0")), prefix + "x0");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SamplerGoldenTest,
    ::testing::Combine(
        ::testing::Values("even", "uneven", "pair", "single"),
        ::testing::Values(StepCase{"ddim", SamplerKind::kDdim, 0.0, Parity::kOfficial},
                          StepCase{"ddim_eta", SamplerKind::kDdim, 0.7, Parity::kOfficial},
                          StepCase{"ddpm", SamplerKind::kDdpm, 0.0, Parity::kOfficial},
                          StepCase{"ddpm_fixed", SamplerKind::kDdpm, 0.0, Parity::kDiffusers},
                          StepCase{"dpmpp", SamplerKind::kDpmSolverPlusPlus2M, 0.0,
                                   Parity::kOfficial})),
    [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::get<1>(test.param).output;
    });

TEST(SamplerPlanTest, RefusesBadSchedules) {
  const auto refused = [](auto change, bool learned = true) {
    RequestSchedule schedule;
    schedule.timesteps = {999, 500, 0};
    change(schedule);
    try {
      plan_sampler(schedule, learned, Parity::kOfficial);
    } catch (const InvalidArgument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](RequestSchedule&) {}));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.timesteps.clear(); }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.timesteps = {0, 500}; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.timesteps = {500, 500}; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.timesteps = {1000}; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.timesteps = {-1}; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.eta = -0.1; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.eta = NAN; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.guidance = INFINITY; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.guided_channels = 2; }));
  EXPECT_TRUE(refused([](RequestSchedule& s) {
    s.eta = 0.5;
    s.sampler = SamplerKind::kDdpm;
  }));
  EXPECT_TRUE(refused([](RequestSchedule& s) { s.sampler = SamplerKind::kDdpm; }, false));
}

TEST(SamplerPlanTest, EveryScalarIsFinite) {
  for (const std::int64_t steps : {1, 2, 1000}) {
    for (const SamplerKind kind :
         {SamplerKind::kDdim, SamplerKind::kDdpm, SamplerKind::kDpmSolverPlusPlus2M}) {
      RequestSchedule schedule;
      schedule.sampler = kind;
      schedule.timesteps = ddim_timesteps(steps);
      for (const SamplerStep& s : plan_sampler(schedule, true, Parity::kOfficial).steps) {
        EXPECT_TRUE(
            std::isfinite(s.keep + s.eps_scale + s.history + s.noise_scale + s.min_log + s.max_log))
            << to_string(kind) << " at " << s.timestep;
      }
    }
  }
}

}  // namespace
}  // namespace ditar
