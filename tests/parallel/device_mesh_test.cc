#include "ditar/parallel/device_mesh.h"

#include "ditar/config/error.h"

#include <gtest/gtest.h>

#include <set>

namespace ditar {
namespace {

constexpr MeshAxis kAxes[] = {MeshAxis::kPipeline, MeshAxis::kData, MeshAxis::kCfg,
                              MeshAxis::kSequence, MeshAxis::kTensor};

MeshDegrees degrees_of(int pipeline, int data, int cfg, int sequence, int tensor) {
  return {pipeline, data, cfg, sequence, tensor};
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
  const MeshDegrees degrees = degrees_of(2, 3, 2, 1, 2);
  std::set<std::vector<int>> places;
  for (int rank = 0; rank < 24; ++rank) {
    const DeviceMesh mesh(degrees, 24, rank);
    std::vector<int> place;
    for (const MeshAxis axis : kAxes) {
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
            "plan cfg=2,tensor=2 needs more than the 2 ranks there are");
  EXPECT_EQ(message_of([] { DeviceMesh(degrees_of(1, 1, 1, 1, 2), 4, 0); }),
            "plan tensor=2 needs 2 ranks, there are 4");
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 1, 3, 1, 1), 3, 0); }).find("two branches"),
            std::string::npos);
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 0, 1, 1, 1), 1, 0); }).find("data=0"),
            std::string::npos);
  EXPECT_NE(message_of([] { DeviceMesh(degrees_of(1, 2, 1, 1, 1), 2, 2); }).find("rank 2"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              DeviceMesh({1 << 30, 1 << 30, 1, 1, 1}, 4, 0);
            }).find("more than"),
            std::string::npos);
}

TEST(DeviceMeshTest, ChecksTheModelsLimitsWithTheNumbers) {
  const MeshLimits limits{2, 6, 384, 1536, 12, 49, false};
  EXPECT_EQ(message_of([&] {
              DeviceMesh({1, 1, 1, 1, 4}, 4, 0).check(limits);
            }),
            "6 heads cannot be split over tensor=4; choose a degree that divides them");
  EXPECT_EQ(message_of([&] {
              DeviceMesh({13, 1, 1, 1, 1}, 13, 0).check(limits);
            }),
            "pipeline=13 leaves ranks idle: there are only 12 layers");
  EXPECT_EQ(message_of([&] {
              DeviceMesh({1, 3, 1, 1, 1}, 3, 0).check(limits);
            }),
            "data=3 leaves ranks idle: there are only 2 images in a request");
  EXPECT_NE(message_of([&] {
              DeviceMesh({1, 1, 2, 1, 1}, 2, 0).check(limits);
            }).find("guidance"),
            std::string::npos);
  EXPECT_EQ(message_of([&] { DeviceMesh({2, 2, 1, 2, 3}, 24, 0).check(limits); }), "accepted");
}

TEST(MeshDegreesTest, SurvivesItsText) {
  for (const auto& degrees : {degrees_of(1, 1, 1, 1, 1), degrees_of(2, 1, 2, 1, 4)}) {
    EXPECT_EQ(parse_mesh_degrees(to_string(degrees)), degrees);
  }
  EXPECT_EQ(to_string(MeshDegrees{}), "single");
  EXPECT_EQ(parse_mesh_degrees(""), MeshDegrees{});
  for (const char* bad :
       {"cfg", "cfg=", "cfg=0", "cfg=2,cfg=2", "cfg=2x", "tp=2", "cfg=-1", "cfg=99999999999"}) {
    EXPECT_THROW((void)parse_mesh_degrees(bad), InvalidArgument) << bad;
  }
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
