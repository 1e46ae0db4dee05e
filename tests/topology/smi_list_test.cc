#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

TEST(GpuListTest, ReadsNamesUuidsAndMigChildren) {
  const auto gpus = parse_gpu_list(
      "GPU 0: NVIDIA RTX A5500 (UUID: GPU-0a)\n"
      "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0b)\n"
      "  MIG 1g.10gb     Device  0: (UUID: MIG-01)\n");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].name, "NVIDIA RTX A5500");
  EXPECT_EQ(gpus[0].uuid, "GPU-0a");
  ASSERT_EQ(gpus[1].mig.size(), 1u);
  EXPECT_EQ(gpus[1].mig[0].profile, "1g.10gb");
  const auto graph = graph_of(gpus);
  EXPECT_FALSE(graph.gpus[0].mig);
  EXPECT_TRUE(graph.gpus[1].mig);
}

TEST(GpuListTest, RefusesUnknownLinesAndRepeats) {
  EXPECT_THROW(parse_gpu_list("GPU 0: A (UUID: GPU-0"), DataError);
  EXPECT_THROW(parse_gpu_list("MIG 1g.10gb Device 0: (UUID: MIG-01)"), DataError);
  EXPECT_THROW(parse_gpu_list("GPU 0: A (UUID: GPU-0)\nGPU 0: B (UUID: GPU-1)\n"), DataError);
}

TEST(NvlinkStatusTest, TellsActiveInactiveAndUnsupportedApart) {
  const auto all = parse_nvlink_status(
      "GPU 0: NVIDIA RTX A5500 (UUID: GPU-0)\n"
      "\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n\t Link 2: <inactive>\n"
      "GPU 1: NVIDIA RTX A5500 (UUID: GPU-1)\n"
      "NVML: Unable to retrieve NVLink information as all links are inActive\n"
      "GPU 2: NVIDIA L40S (UUID: GPU-2)\nDevice does not have or support Nvlink\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].active(), 2);
  EXPECT_EQ(all[0].link_gb_per_s.size(), 3u);
  EXPECT_TRUE(all[1].supported);
  EXPECT_EQ(all[1].active(), 0);
  EXPECT_FALSE(all[2].supported);
}

TEST(NvlinkStatusTest, RefusesGapsAndStrangeLines) {
  const std::string gpu = "GPU 0: A (UUID: GPU-0)\n";
  EXPECT_THROW(parse_nvlink_status(gpu + "Link 1: 14.062 GB/s\n"), DataError);
  EXPECT_THROW(parse_nvlink_status(gpu + "Link 0: fast\n"), DataError);
  EXPECT_THROW(parse_nvlink_status("Link 0: 14.062 GB/s\n"), DataError);
  EXPECT_THROW(parse_nvlink_status(""), DataError);
}

}  // namespace
}  // namespace ditar
