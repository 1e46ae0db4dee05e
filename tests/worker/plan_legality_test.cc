// The planner (what it offers) against the engine (what it accepts): the same plans, and of a
// refused one the same numbers.
#include "ditar/config/error.h"
#include "ditar/parallel/device_mesh.h"
#include "ditar/planner/planner.h"
#include "rank_threads.h"
#include "split_cases.h"
#include "temp_folder.h"

#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <set>

namespace ditar {
namespace {

std::set<std::int64_t> numbers_of(const std::string& text) {
  std::set<std::int64_t> numbers;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > i) numbers.insert(std::stoll(text.substr(i, end - i)));
    i = end + 1;
  }
  return numbers;
}

std::vector<Plan> all_plans(int ranks) {
  std::vector<Plan> plans;
  for (int data = 1; data <= ranks; ++data) {
    for (int cfg = 1; cfg <= ranks; ++cfg) {
      for (int tensor = 1; tensor <= ranks; ++tensor) {
        for (int sequence = 1; sequence <= ranks; ++sequence) {
          const int others = data * cfg * tensor * sequence;
          if (ranks % others != 0) continue;
          plans.push_back({data, cfg, tensor, sequence, ranks / others, SequenceKind::kUlysses});
          if (sequence > 1) {
            plans.push_back({data, cfg, tensor, sequence, ranks / others, SequenceKind::kRing});
          }
        }
      }
    }
  }
  return plans;
}

/// Why the engine's split factory refuses, before anything is loaded.
std::optional<std::string> engine_refusal(const ModelShape& model, const LaneShape& lane,
                                          const Plan& plan) {
  try {
    const DeviceMesh mesh(plan, plan.ranks(), 0);
    mesh.check_model({.heads = model.heads,
                      .mlp_hidden = 4 * model.hidden,
                      .depth = model.depth,
                      .tokens = tokens_of(model, lane)});
    mesh.check_request(lane.images, lane.guidance != 1.0);
    return std::nullopt;
  } catch (const InvalidArgument& error) {
    return error.message();
  }
}

/// Calls `check` with every model and lane; gives the number of calls.
template <typename Check>
int for_all_jobs(const Check& check) {
  int jobs = 0;
  ModelShape model = {.hidden = 0, .depth = 0, .heads = 0, .patch = 2};
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 6, 8, 12, 16}) {
    for (const std::int64_t depth : {1, 2, 3, 4, 7, 28}) {
      for (const auto& [height, width] : {std::pair{2, 2}, {2, 4}, {2, 6}, {34, 34}, {10, 18}}) {
        for (const std::int64_t images : {1, 2, 3, 4, 5}) {
          for (const double guidance : {1.0, 0.0, 0.5, 1.5, 4.0}) {
            model.heads = heads;
            model.hidden = 8 * heads;
            model.depth = depth;
            LaneShape lane;
            lane.images = images;
            lane.height = height;
            lane.width = width;
            lane.guidance = guidance;
            check(model, lane);
            ++jobs;
          }
        }
      }
    }
  }
  return jobs;
}

TEST(PlanLegalityTest, PlannerAndEngineRefuseTheSamePlansWithTheSameNumbers) {
  int accepted = 0, refused = 0;
  for_all_jobs([&](const ModelShape& model, const LaneShape& lane) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      for (const Plan& plan : all_plans(ranks)) {
        const auto engine = engine_refusal(model, lane, plan);
        const auto planner = why_illegal(model, lane, plan, ranks);
        (engine ? refused : accepted) += 1;
        ASSERT_EQ(planner.has_value(), engine.has_value())
            << format_plan(plan) << ", " << model.heads << " heads, " << model.depth << " layers, "
            << tokens_of(model, lane) << " tokens, " << lane.images << " images, guidance "
            << lane.guidance << ": planner " << planner.value_or("offers it") << ", engine "
            << engine.value_or("accepts it");
        if (engine) {
          ASSERT_EQ(numbers_of(*planner), numbers_of(*engine)) << *planner << " / " << *engine;
        }
      }
    }
  });
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(refused, 10'000);
}

TEST(PlanLegalityTest, EveryOfferedPlanIsAcceptedAndEveryOtherIsListedWithItsReason) {
  for_all_jobs([&](const ModelShape& model, const LaneShape& lane) {
    if (lane.images % 2 == 0 || lane.guidance == 0.5 || model.depth == 28) return;
    PlannerInput input;
    input.model = model;
    input.lane = lane;
    input.lane.arithmetic = Arithmetic::kF32;
    input.world_size = 4;
    input.device = cpu_model(1);
    const PlanList list = plans_for(input);
    std::size_t all = 0;
    for (int ranks = 1; ranks <= 4; ++ranks) all += all_plans(ranks).size();
    ASSERT_EQ(list.ranked.size() + list.rejected.size(), all);
    for (const RankedPlan& entry : list.ranked) {
      ASSERT_FALSE(engine_refusal(model, lane, entry.plan)) << format_plan(entry.plan);
    }
    for (const RejectedPlan& entry : list.rejected) {
      const auto engine = engine_refusal(model, lane, entry.plan);
      ASSERT_TRUE(engine) << format_plan(entry.plan) << " is accepted, but: " << entry.reason;
      ASSERT_EQ(numbers_of(entry.reason), numbers_of(*engine)) << entry.reason << " / " << *engine;
    }
  });
}

/// Runs the request on as many threads as the plan has ranks; the refusal, if there is one.
std::string run_plan(const std::filesystem::path& model, const SplitJob& job, int ranks) {
  try {
    rethrow_first(run_ranks(ranks, [&](Communicator& communicator) {
      run_split_job(model, job, ranks == 1 ? nullptr : &communicator);
    }));
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return {};
}

TEST(PlanLegalityTest, LoadedEnginesRunWhatIsOfferedAndRefuseTheRest) {
  const TempFolder folder;
  int ran = 0, refused = 0;
  for (const SplitModel& sizes :
       {SplitModel{.height = 1, .width = 3, .heads = 2, .hidden = 16, .depth = 2},
        SplitModel{.height = 3, .width = 3, .heads = 3, .hidden = 24, .depth = 1},
        SplitModel{.height = 5, .width = 3, .heads = 4, .hidden = 32, .depth = 3}}) {
    const auto model = folder.path() / (std::to_string(sizes.heads) + ".safetensors");
    write_split_model(model, sizes);
    for (const auto& [images, guidance] : {std::pair{1, 1.5}, {3, 1.0}}) {
      PlannerInput input;
      input.model = {
          .hidden = sizes.hidden, .depth = sizes.depth, .heads = sizes.heads, .patch = 1};
      input.lane.images = images;
      input.lane.height = sizes.height;
      input.lane.width = sizes.width;
      input.lane.guidance = guidance;
      input.lane.arithmetic = Arithmetic::kF32;
      input.world_size = 4;
      input.device = cpu_model(1);
      const PlanList list = plans_for(input);
      SplitJob job{
          .images = images, .height = sizes.height, .width = sizes.width, .guidance = guidance};
      for (const RankedPlan& entry : list.ranked) {
        job.plan = format_plan(entry.plan);
        EXPECT_EQ(run_plan(model, job, entry.plan.ranks()), "") << job.plan;
        ++ran;
      }
      for (const RejectedPlan& entry : list.rejected) {
        job.plan = format_plan(entry.plan);
        const std::string engine = run_plan(model, job, entry.plan.ranks());
        EXPECT_EQ(numbers_of(entry.reason), numbers_of(engine)) << entry.reason << " / " << engine;
        ++refused;
      }
    }
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace ditar
