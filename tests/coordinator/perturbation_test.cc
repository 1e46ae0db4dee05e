// What the probes find in engines that leave something out.
#include "experiment/perturbation.h"

#include "ditar/config/wire_codec.h"
#include "ditar/coordinator/timing_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ditar {
namespace {

/// What a planted engine leaves out.
struct Deaf {
  bool label = false, step = false, lower_feels_upper = false, upper_feels_lower = false,
       time = false;
};

Task small_task() {
  Task task;
  task.images = 2;
  task.channels = 3;
  task.height = 5;
  task.width = 4;
  task.schedule.timesteps = {999, 500, 0};
  return task;
}

RunRequest base_request(const Task& task) {
  return make_request(task, std::vector<std::int32_t>{3, 9}, RequestSeed{1, 0}, 17);
}

/// An engine whose every value hears its own place, both halves of its image, label and steps.
std::vector<float> answer(const Task& task, const RunRequest& request, const Deaf& deaf) {
  const std::int64_t image_size = task.channels * task.height * task.width;
  std::vector<float> out = request.latents;
  for (std::int64_t n = 0; n < task.images; ++n) {
    float sums[2] = {0.0F, 0.0F};
    const auto half_of = [&](std::int64_t i) {
      return (i / task.width) % task.height < task.height / 2 ? 0 : 1;
    };
    for (std::int64_t i = 0; i < image_size; ++i) {
      sums[half_of(i)] += request.latents[static_cast<std::size_t>(n * image_size + i)];
    }
    for (std::int64_t i = 0; i < image_size; ++i) {
      float& value = out[static_cast<std::size_t>(n * image_size + i)];
      const int half = half_of(i);
      const bool hears_other = half == 1 ? !deaf.lower_feels_upper : !deaf.upper_feels_lower;
      value += sums[half] + (hears_other ? sums[1 - half] : 0.0F);
      if (!deaf.label) value += 10.0F * static_cast<float>(request.labels[std::size_t(n)]);
      if (!deaf.step) value += 100.0F * static_cast<float>(request.schedule.timesteps.size());
      const auto& times = request.schedule.timesteps;
      value += !deaf.time && times.size() == 3 ? static_cast<float>(times[1]) : 500.0F;
    }
  }
  return out;
}

std::vector<std::string> faults(const Deaf& deaf) {
  const Task task = small_task();
  const RunRequest base = base_request(task);
  const std::vector<float> before = answer(task, base, deaf);
  HardFailureInput input;
  input.values_per_output = before.size();
  for (const Perturbation& one : perturbations(task, base)) {
    input.probes.push_back(felt(one, before, answer(task, one.request, deaf)));
  }
  return hard_failures(input);
}

TEST(PerturbationTest, HonestEngineFeelsEach) { EXPECT_TRUE(faults({}).empty()); }

TEST(PerturbationTest, EachOmissionIsNamedAlone) {
  const std::vector<std::pair<Deaf, std::string>> cases = {
      {{true, false, false, false}, "label of one image"},
      {{false, true, false, false}, "step"},
      {{false, false, true, false}, "token in the upper half"},
      {{false, false, false, true}, "token in the lower half"},
      {{false, false, false, false, true}, "time of one step"}};
  for (const auto& [deaf, name] : cases) {
    const std::vector<std::string> found = faults(deaf);
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_NE(found.front().find(name), std::string::npos) << found.front();
  }
}

TEST(PerturbationTest, ChangedPlaceIsNotAmongThePlacesThatFeel) {
  const Task task = small_task();
  const RunRequest base = base_request(task);
  for (const Perturbation& one : perturbations(task, base)) {
    ASSERT_FALSE(one.felt_at.empty()) << one.changed;
    for (const std::size_t at : one.felt_at) {
      EXPECT_EQ(one.request.latents.at(at), base.latents.at(at)) << one.changed;
    }
  }
}

TEST(PerturbationTest, OnlyTheLabelHoldsForEveryClass) {
  const Task task = small_task();
  for (const Perturbation& one : perturbations(task, base_request(task))) {
    EXPECT_EQ(one.may_be_skipped, one.changed != "label of one image") << one.changed;
  }
}

TEST(HiddenRequestTest, ShapesAndLengthsDifferAndAreTheLanesOwn) {
  Task task = small_task();
  task.schedule.timesteps = {999, 888, 777, 666, 555, 444, 333, 222, 111, 0};
  std::set<std::int64_t> images;
  std::set<std::size_t> lengths;
  for (std::uint64_t input = 0; input < 64; ++input) {
    const RunRequest request = hidden_request(task, 5, input);
    EXPECT_NO_THROW(check_request(request));
    EXPECT_LE(request.images, task.images);
    EXPECT_TRUE(
        std::is_sorted(request.schedule.timesteps.rbegin(), request.schedule.timesteps.rend()));
    images.insert(request.images);
    lengths.insert(request.schedule.timesteps.size());
  }
  EXPECT_EQ(images.size(), 2U);
  EXPECT_GT(lengths.size(), 4U);
  EXPECT_NE(hidden_request(task, 5, 1).latents, hidden_request(task, 6, 1).latents);
}

TEST(PerturbationTest, ShortSchedulesAndFlatImagesHaveFewerProbes) {
  Task task = small_task();
  task.schedule.timesteps = {999};
  EXPECT_EQ(perturbations(task, base_request(task)).size(), 3U);
  task.height = 1;
  EXPECT_EQ(perturbations(task, base_request(task)).size(), 1U);
}

}  // namespace
}  // namespace ditar
