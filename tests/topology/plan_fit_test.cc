#include "ditar/planner/plan_fit.h"

#include "ditar/config/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ditar {
namespace {

using testing::HasSubstr;

FitPoint point(const char* job, const char* plan, double matmul, double seconds) {
  FitPoint made{job, plan, {}};
  made.step.predicted.matmul = matmul;
  made.step.seconds = seconds;
  return made;
}

std::string refusal(const std::string& text) {
  try {
    (void)from_fit_json(text);
  } catch (const DataError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(PlanFitTest, KeepsPointsAndScalesThroughItsFile) {
  PlanFit fit{"NVIDIA RTX A5500", "fp16", {}};
  EXPECT_THROW((void)fit.scales(), InvalidArgument);
  EXPECT_EQ(from_fit_json(to_fit_json(fit)).points.size(), 0U);
  fit.add(point("a", "single", 1e-3, 2e-3));
  fit.add(point("a", "cfg=2", 5e-4, 1e-3));
  const PlanFit again = from_fit_json(to_fit_json(fit));
  EXPECT_EQ(again.device, fit.device);
  EXPECT_EQ(again.precision, "fp16");
  ASSERT_EQ(again.points.size(), 2U);
  EXPECT_EQ(again.points[1].plan, "cfg=2");
  EXPECT_NEAR(again.scales().matmul, 2.0, 0.01);
  EXPECT_EQ(again.scales().origin, Origin::kMeasured);
  EXPECT_EQ(again.scales().residual, fit.scales().residual);
}

TEST(PlanFitTest, ANewMeasurementTakesTheOldOnesPlace) {
  PlanFit fit{"CPU", "fp32", {}};
  fit.add(point("a", "single", 1e-3, 9e-3));
  fit.add(point("b", "single", 1e-3, 3e-3));
  fit.add(point("a", "single", 1e-3, 3e-3));
  ASSERT_EQ(fit.points.size(), 2U);
  EXPECT_NEAR(fit.scales().matmul, 3.0, 0.01);
}

TEST(PlanFitTest, RefusesDamagedFilesByPlace) {
  EXPECT_THAT(refusal("{"), HasSubstr("not a fit"));
  EXPECT_THAT(refusal("{}"), HasSubstr("schema"));
  EXPECT_THAT(refusal(R"({"schema": 2})"), HasSubstr("schema must be 1"));
  PlanFit fit{"CPU", "fp32", {}};
  fit.add(point("a", "single", 1e-3, 9e-3));
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = to_fit_json(fit);
    const std::size_t at = text.rfind("\"" + key + "\": ") + key.size() + 4;
    return text.replace(at, text.find_first_of(",\n", at) - at, value);
  };
  EXPECT_EQ(refusal(with("launch", "0.5")), "accepted");
  EXPECT_THAT(refusal(with("launch", "-1")), HasSubstr("points[0].launch"));
  EXPECT_THAT(refusal(with("measured_seconds", "0.0")), HasSubstr("points[0].measured_seconds"));
  EXPECT_THAT(refusal(with("bubble", "\"x\"")), HasSubstr("not a fit"));
  EXPECT_THROW((void)load_fit("/nowhere/fit.json"), IoError);
}

}  // namespace
}  // namespace ditar
