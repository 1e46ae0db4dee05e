#include "ditar/parallel/device_mesh.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <set>

namespace ditar {
namespace {

Plan degrees_of(int pipeline, int data, int cfg, int sequence, int tensor) {
  return {.data = data, .cfg = cfg, .tensor = tensor, .sequence = sequence, .pipeline = pipeline};
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return "accepted";
}

TEST(DeviceMeshTest, PutsTensorInnermostAndPipelineOutermost) {
  const DeviceMesh mesh(degrees_of(2, 3, 2, 2, 2), 48, 0);
  EXPECT_EQ(mesh.group(MeshAxis::kTensor), (std::vector<int>{0, 1}));
  EXPECT_EQ(mesh.group(MeshAxis::kSequence), (std::vector<int>{0, 2}));
  EXPECT_EQ(mesh.group(MeshAxis::kCfg), (std::vector<int>{0, 4}));
  EXPECT_EQ(mesh.group(MeshAxis::kData), (std::vector<int>{0, 8, 16}));
  EXPECT_EQ(mesh.group(MeshAxis::kPipeline), (std::vector<int>{0, 24}));
}

TEST(DeviceMeshTest, EveryRankHasItsOwnPlaceAndGroupsPartitionTheRanks) {
  const Plan degrees = degrees_of(2, 3, 2, 1, 2);
  std::set<std::vector<int>> places;
  for (int rank = 0; rank < 24; ++rank) {
    const DeviceMesh mesh(degrees, 24, rank);
    std::vector<int> place;
    for (const MeshAxis axis : kMeshAxes) {
      place.push_back(mesh.index(axis));
      const auto group = mesh.group(axis);
      ASSERT_EQ(static_cast<int>(group.size()), mesh.degree(axis));
      EXPECT_EQ(group[static_cast<std::size_t>(mesh.index(axis))], rank);
      for (const int other : group) {
        EXPECT_EQ(DeviceMesh(degrees, 24, other).group(axis), group);
        EXPECT_EQ(DeviceMesh(degrees, 24, other).color(axis), mesh.color(axis));
      }
    }
    EXPECT_TRUE(places.insert(place).second);
  }
}

TEST(DeviceMeshTest, RefusesPlansThatDoNotFitTheWorldWithTheNumbers) {
  EXPECT_EQ(message_of([] { DeviceMesh(degrees_of(1, 1, 2, 1, 2), 2, 0); }),
            "plan cfg=2,tensor=2 needs more ranks than there are (2)");
  EXPECT_EQ(message_of([] { DeviceMesh(degrees_of(1, 1, 1, 1, 2), 4, 0); }),
            "plan tensor=2 needs 2 ranks, there are 4");
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 1, 3, 1, 1), 3, 0); }).find("two branches"),
            std::string::npos);
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 0, 1, 1, 1), 1, 0); }).find("data=0"),
            std::string::npos);
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 2, 1, 1, 1), 2, 2); }).find("rank 2"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              DeviceMesh(degrees_of(1 << 15, 1 << 15, 1, 1, 1), 4, 0);
            }).find("needs more ranks"),
            std::string::npos);
}

TEST(DeviceMeshTest, ChecksTheModelsLimitsWithTheNumbers) {
  const MeshModel model{.heads = 6, .mlp_hidden = 1536, .depth = 12, .tokens = 49};
  const auto check = [&](const char* text) {
    const Plan plan = parse_plan(text);
    return message_of([&] { DeviceMesh(plan, plan.ranks(), 0).check_model(model); });
  };
  EXPECT_EQ(check("tensor=4"),
            "6 heads cannot be split over tensor=4; choose a degree that divides them");
  EXPECT_EQ(check("ulysses=4"),
            "6 heads cannot be split over ulysses=4; choose a degree that divides them");
  EXPECT_EQ(check("tensor=2,ulysses=2"),
            "3 heads of each tensor rank cannot be split over ulysses=2; choose a degree that "
            "divides them");
  EXPECT_EQ(check("pipeline=13"), "pipeline=13 leaves ranks idle: there are only 12 layers");
  EXPECT_EQ(check("ring=50"), "ring=50 leaves ranks idle: there are only 49 tokens");
  EXPECT_EQ(check("data=2,tensor=3,ulysses=2,pipeline=2"), "accepted");
  EXPECT_EQ(check("ring=4,tensor=2"), "accepted");
}

TEST(DeviceMeshTest, ChecksARequestWithTheNumbers) {
  const auto check = [](const char* text, std::int64_t images, bool guided) {
    const Plan plan = parse_plan(text);
    return message_of([&] { DeviceMesh(plan, plan.ranks(), 0).check_request(images, guided); });
  };
  EXPECT_EQ(check("data=3", 2, true),
            "data=3 leaves ranks idle: there are only 2 images in a request");
  EXPECT_NE(check("cfg=2", 1, false).find("one branch only"), std::string::npos);
  EXPECT_EQ(check("data=2,cfg=2", 2, true), "accepted");
}

TEST(SplitRangeTest, CoversEverythingOnceWithLargerPartsFirst) {
  for (const std::int64_t count : {0, 1, 7, 49}) {
    for (int parts = 1; parts <= 5; ++parts) {
      std::int64_t at = 0;
      for (int i = 0; i < parts; ++i) {
        const MeshRange range = split_range(count, parts, i);
        EXPECT_EQ(range.begin, at);
        at = range.end;
        EXPECT_LE(range.count(), split_range(count, parts, 0).count());
        EXPECT_GE(range.count() + 1, split_range(count, parts, 0).count());
      }
      EXPECT_EQ(at, count);
    }
  }
  EXPECT_THROW((void)split_range(4, 2, 2), InvalidArgument);
}

}  // namespace
}  // namespace ditar
