#include "ditar/topology_nvml/machine_facts.h"

#include "ditar/config/error.h"
#include "ditar/topology/render.h"
#include "ditar/topology_nvml/gpu_sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ditar {
namespace {

namespace fs = std::filesystem;

bool mentions(const std::vector<std::string>& notes, const std::string& part) {
  for (const std::string& note : notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

class MachineFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            ("machine_facts_" +
             std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    sources_.nvml_library = FAKE_NVML_LIBRARY;
    sources_.sysfs_root = (root_ / "sys").string();
    sources_.proc_root = (root_ / "proc").string();
    write("proc/cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\n");
    write("proc/1/comm", "trainer\n");
  }
  void TearDown() override {
    unsetenv("FAKE_NVML");
    fs::remove_all(root_);
  }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  /// A GPU behind a root port whose slot has eight lanes of PCIe 3.
  void add_pci(const std::string& pci, const std::string& numa) const {
    const std::string port = "sys/devices/pci0000:00/0000:00:01.0/";
    write(port + "max_link_speed", "8.0 GT/s PCIe\n");
    write(port + "max_link_width", "8\n");
    const std::string device = port + pci + "/";
    write(device + "max_link_speed", "16.0 GT/s PCIe\n");
    write(device + "max_link_width", "16\n");
    write(device + "current_link_speed", "2.5 GT/s PCIe\n");
    write(device + "current_link_width", "8\n");
    write(device + "numa_node", numa + "\n");
    write(device + "class", "0x030000\n");
    write(device + "vendor", "0x10de\n");
    fs::create_directories(root_ / "sys/bus/pci/devices");
    fs::create_directory_symlink(root_ / device, root_ / "sys/bus/pci/devices" / pci);
  }

  MachineFacts read(const char* script) {
    setenv("FAKE_NVML", script, 1);
    return read_machine(sources_);
  }

  fs::path root_;
  MachineSources sources_;
};

TEST_F(MachineFactsTest, ReadsWhatTheDriverTells) {
  const MachineFacts facts = read("");
  EXPECT_TRUE(facts.driver);
  EXPECT_EQ(facts.driver_version, "580.95.05");
  EXPECT_EQ(facts.cuda_version, "13.0");
  ASSERT_EQ(facts.gpus.size(), 2u);
  const GpuFacts& gpu = facts.gpus[0];
  EXPECT_EQ(gpu.uuid, "GPU-aaaa");
  EXPECT_EQ(gpu.pci, "0000:3b:00.0");
  EXPECT_EQ(gpu.sm_clock_mhz, 1665u);
  EXPECT_EQ(gpu.memory_clock_mhz, 8001u);
  EXPECT_EQ(gpu.max_sm_clock_mhz, 2100u);
  EXPECT_EQ(gpu.temperature_c, 61u);
  EXPECT_EQ(gpu.power_w, 221.5);
  EXPECT_EQ(gpu.power_limit_w, 230.0);
  EXPECT_EQ(gpu.enforced_power_limit_w, 200.0);
  EXPECT_EQ(gpu.memory_used_bytes, 757220864u);
  EXPECT_EQ(gpu.ecc, true);
  EXPECT_EQ(gpu.mig, false);
  EXPECT_FALSE(gpu.energy_mj);
  EXPECT_TRUE(mentions(gpu.missing, "energy: no permission"));
  ASSERT_TRUE(gpu.processes);
  ASSERT_EQ(gpu.processes->size(), 2u);
  EXPECT_EQ((*gpu.processes)[0].command, "trainer");
  EXPECT_EQ((*gpu.processes)[0].used_bytes, 500000000u);
  EXPECT_FALSE((*gpu.processes)[1].used_bytes);
  EXPECT_EQ(facts.graph.hosts[0].cpu_vendor, "amd");
}

TEST_F(MachineFactsTest, TellsTheTargetFromItsLaptopNamesake) {
  const MachineFacts facts = read("");
  EXPECT_TRUE(facts.gpus[0].is_target());
  EXPECT_FALSE(facts.gpus[1].is_target());
}

TEST_F(MachineFactsTest, SeesTheBridgeOrThePciePath) {
  EXPECT_EQ(to_string(read("").graph.links.at(0).path), "PHB");
  EXPECT_EQ(to_string(read("bridge").graph.links.at(0).path), "NV4");
  EXPECT_EQ(to_string(read("switch").graph.links.at(0).path), "NV4");
  EXPECT_EQ(read("bridge").gpus[0].nvlinks_active, 4);
  EXPECT_EQ(read("").gpus[0].nvlinks_active, 0);
}

TEST_F(MachineFactsTest, NamesAHalfSeatedBridge) {
  const MachineFacts facts = read("half_bridge");
  EXPECT_EQ(to_string(facts.graph.links.at(0).path), "NV3");
  EXPECT_TRUE(mentions(facts.notes, "3 of 4 NVLinks"));
}

TEST_F(MachineFactsTest, KeepsPeerAccessOfEachDirectionApart) {
  const MachineFacts facts = read("corrupt_p2p");
  EXPECT_EQ(facts.graph.links[0].a_to_b.declared, PeerStatus::kOk);
  EXPECT_EQ(facts.graph.links[0].b_to_a.declared, PeerStatus::kChipsetNotSupported);
  EXPECT_FALSE(facts.graph.links[0].a_to_b.proven());
}

TEST_F(MachineFactsTest, TakesTheNarrowestLinkUpToTheRoot) {
  add_pci("0000:3b:00.0", "1");
  add_pci("0000:af:00.0", "-1");
  const MachineFacts facts = read("");
  const Gpu& gpu = facts.graph.gpus[0];
  EXPECT_EQ(gpu.numa, 1);
  EXPECT_FALSE(facts.graph.gpus[1].numa);
  EXPECT_EQ(gpu.pcie.gen_now, 1);
  EXPECT_EQ(gpu.pcie.gen_best, 3);
  EXPECT_EQ(gpu.pcie.width_best, 8);
}

TEST_F(MachineFactsTest, MarksMigAndHeat) {
  const MachineFacts facts = read("mig,hot");
  EXPECT_TRUE(facts.graph.gpus[0].mig);
  EXPECT_TRUE(mentions(facts.notes, "MIG"));
  EXPECT_TRUE(clocks_are_faulty(*facts.gpus[0].clock_reasons));
  EXPECT_FALSE(clocks_are_faulty(*read("").gpus[0].clock_reasons));
}

TEST_F(MachineFactsTest, WorksWithoutADriver) {
  add_pci("0000:3b:00.0", "0");
  sources_.nvml_library = (root_ / "libnvidia-ml.so.1").string();
  const MachineFacts facts = read("");
  EXPECT_FALSE(facts.driver);
  EXPECT_TRUE(facts.gpus.empty());
  EXPECT_TRUE(mentions(facts.notes, "no NVIDIA driver"));
  EXPECT_TRUE(mentions(facts.notes, "on the PCI bus at 0000:3b:00.0"));
  EXPECT_NE(render(facts.graph, TopologyFormat::kText).find("no NVIDIA driver"), std::string::npos);
}

TEST_F(MachineFactsTest, NamesAVersionMismatchAndAnAbsentModule) {
  EXPECT_TRUE(mentions(read("mismatch").notes, "different versions"));
  EXPECT_TRUE(mentions(read("not_loaded").notes, "driver not loaded"));
  EXPECT_FALSE(read("mismatch").driver);
}

TEST_F(MachineFactsTest, CarriesOnWhenAGpuIsLostOrAbsent) {
  const MachineFacts lost = read("lost");
  EXPECT_EQ(lost.gpus.size(), 1u);
  EXPECT_TRUE(mentions(lost.notes, "GPU 1 cannot be opened: the GPU is lost"));
  const MachineFacts none = read("no_gpu");
  EXPECT_TRUE(none.driver);
  EXPECT_TRUE(mentions(none.notes, "there is no GPU"));
}

TEST_F(MachineFactsTest, SaysWhenThePathIsAssumed) {
  const MachineFacts facts = read("silent");
  EXPECT_EQ(to_string(facts.graph.links.at(0).path), "SYS");
  EXPECT_TRUE(mentions(facts.notes, "SYS is assumed"));
}

TEST_F(MachineFactsTest, NamesWhatAnOldDriverCannotTell) {
  sources_.nvml_library = FAKE_OLD_NVML_LIBRARY;
  const MachineFacts facts = read("");
  ASSERT_EQ(facts.gpus.size(), 2u);
  EXPECT_FALSE(facts.gpus[0].sm_clock_mhz);
  EXPECT_TRUE(mentions(facts.gpus[0].missing, "SM clock: the driver is too old"));
  EXPECT_TRUE(mentions(facts.graph.notes, "GPU 0 compute processes"));
  EXPECT_EQ(facts.graph.links.at(0).a_to_b.declared, PeerStatus::kUnknown);
}

TEST_F(MachineFactsTest, SamplesChosenGpusAgainAndAgain) {
  ::setenv("FAKE_NVML", "hot", 1);
  const GpuSampler sampler({"GPU-bbbb", "GPU-aaaa"}, sources_.nvml_library);
  const std::vector<GpuSample> samples = sampler.sample();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].processes, (std::vector<std::uint32_t>{1, 4000000}));
  EXPECT_TRUE(samples[0].processes->empty());
  EXPECT_EQ(samples[0].sm_clock_mhz, 1665u);
  EXPECT_EQ(samples[0].thermal_violation_ns, 5000000u);
  EXPECT_TRUE(clocks_are_faulty(*samples[0].clock_reasons));
  EXPECT_EQ(sampler.memory_used(), 2 * 757220864ULL);
  EXPECT_THROW(GpuSampler({"GPU-cccc"}, sources_.nvml_library), Unavailable);
  ::setenv("FAKE_NVML", "", 1);
  EXPECT_EQ(read("").gpus[0].compute_capability, 86);
}

TEST(ClockReasonTest, NamesEveryBit) {
  EXPECT_EQ(clock_reason_names(0x44),
            (std::vector<std::string>{"sw_power_cap", "hw_thermal_slowdown"}));
  EXPECT_EQ(clock_reason_names(0x1000), (std::vector<std::string>{"unknown(0x1000)"}));
  EXPECT_TRUE(clock_reason_names(0).empty());
  EXPECT_TRUE(clocks_are_faulty(0x80));
  EXPECT_FALSE(clocks_are_faulty(0x5));
}

}  // namespace
}  // namespace ditar
