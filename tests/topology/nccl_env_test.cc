#include "ditar/topology/nccl_env.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ditar {
namespace {

FindingKind kind_of(const std::string& name, const std::string& value) {
  const auto findings = lint_nccl({{name, value}});
  return findings.empty() ? FindingKind::kNote : findings.front().kind;
}

TEST(NcclEnvTest, NamesValuesThatAreIgnoredSilently) {
  EXPECT_EQ(kind_of("NCCL_P2P_LEVEL", "phb"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_P2P_LEVEL", "NODE"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_P2P_LEVEL", ""), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_P2P_DISABLE", "true"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_P2P_DISABLE", "2"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_SHM_DISABLE", "yes"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_BUFFSIZE", "4M"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_DEBUG", "LOUD"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_TOPO_FILE", "/nonexistent.xml"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("nccl_p2p_disable", "1"), FindingKind::kIgnored);
  EXPECT_EQ(kind_of("NCCL_SOCKET_IFNAME", " lo"), FindingKind::kIgnored);
}

TEST(NcclEnvTest, AcceptsWhatNcclReads) {
  for (const char* level : {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "3"}) {
    EXPECT_EQ(kind_of("NCCL_P2P_LEVEL", level), FindingKind::kNote) << level;
  }
  EXPECT_EQ(kind_of("NCCL_P2P_DISABLE", "1"), FindingKind::kNote);
  EXPECT_EQ(kind_of("NCCL_CUMEM_ENABLE", "-2"), FindingKind::kNote);
  EXPECT_EQ(kind_of("NCCL_IB_DISABLE", "2"), FindingKind::kNote);
  EXPECT_EQ(kind_of("NCCL_ALGO", "allreduce:Ring;broadcast:^tree"), FindingKind::kNote);
  EXPECT_EQ(kind_of("NCCL_PROTO", "^LL128"), FindingKind::kNote);
  EXPECT_EQ(kind_of("NCCL_DEBUG", "info"), FindingKind::kNote);
  EXPECT_TRUE(lint_nccl({{"PATH", "/bin"}}).empty());
}

TEST(NcclEnvTest, NamesWhatStopsNcclAndWhatSlowsIt) {
  EXPECT_EQ(kind_of("NCCL_ALGO", "Rings"), FindingKind::kRefused);
  EXPECT_EQ(kind_of("NCCL_PROTO", "LL,Fast"), FindingKind::kRefused);
  EXPECT_EQ(kind_of("NCCL_ALGO", "Tree"), FindingKind::kHarmful);
}

TEST(NcclEnvTest, SaysHowToMendACaseFault) {
  const std::string report = nccl_report(lint_nccl({{"NCCL_P2P_LEVEL", "phb"}}));
  EXPECT_EQ(report, "environment: NCCL_P2P_LEVEL=phb is ignored: NCCL compares case: write PHB\n");
}

TEST(NcclEnvTest, ReadsTheVariablesOfAnEnvironmentBlock) {
  const char* const block[] = {"PATH=/bin", "NCCL_DEBUG=WARN", "NCCL_ODD", "NCCL_A=b=c", nullptr};
  const NcclSettings settings = nccl_settings_of(block);
  EXPECT_EQ(settings, (NcclSettings{{"NCCL_DEBUG", "WARN"}, {"NCCL_A", "b=c"}}));
  EXPECT_TRUE(nccl_settings_of(nullptr).empty());
}

TEST(NcclConfTest, RecordsEverySettingWithItsLine) {
  const auto findings = lint_nccl_conf(
      "# site settings\nNCCL_DEBUG=WARN\r\nNCCL_P2P_LEVEL=sys # all\nstray\nFOO=1\n", "site.conf");
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0].kind, FindingKind::kNote);
  EXPECT_EQ(findings[0].where, "site.conf:2");
  EXPECT_EQ(findings[0].value, "WARN");
  EXPECT_EQ(findings[1].kind, FindingKind::kIgnored);
  EXPECT_EQ(findings[2].variable, "stray");
  EXPECT_EQ(findings[3].message, "not a variable of NCCL");
}

TEST(NcclConfTest, ReadsOnlyFilesThatAreThere) {
  const std::string path = testing::TempDir() + "/nccl_env_test.conf";
  std::ofstream(path) << "NCCL_P2P_DISABLE=1\n";
  const auto findings = read_nccl_files({"/nonexistent/nccl.conf", path, testing::TempDir()});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].where, path + ":1");
  EXPECT_EQ(findings[1].message, "cannot be read");
}

}  // namespace
}  // namespace ditar
