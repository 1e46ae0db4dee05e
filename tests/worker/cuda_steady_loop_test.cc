// What the CUDA runtime and driver are asked for while steps run: no memory, no wait, no copy to or
// from the host. CUPTI's callbacks see every call of the process, those of libraries too.
#include "cupti_library.h"
#include "dit_engine_requests.h"
#include "ditar/kernels/device.h"
#include "temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

namespace ditar {
namespace {

const cuda::CuptiLibrary& cupti() { return cuda::CuptiLibrary::get(); }

/// Counts API calls by name from its making to its end.
class CallCounter {
 public:
  CallCounter() {
    EXPECT_EQ(cupti().subscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&seen), this),
              CUPTI_SUCCESS);
    for (const CUpti_CallbackDomain domain :
         {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
      EXPECT_EQ(cupti().enable_domain(1, subscriber_, domain), CUPTI_SUCCESS);
    }
  }
  ~CallCounter() { cupti().unsubscribe(subscriber_); }
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  void clear() {
    const std::scoped_lock lock(mutex_);
    calls_.clear();
  }
  std::map<std::string, int> calls() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  static void CUPTIAPI seen(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    const auto* call = static_cast<const CUpti_CallbackData*>(data);
    if (call->callbackSite != CUPTI_API_ENTER || call->functionName == nullptr) return;
    auto* counter = static_cast<CallCounter*>(self);
    const std::scoped_lock lock(counter->mutex_);
    ++counter->calls_[call->functionName];
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, int> calls_;
};

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

/// Memory asked for or given back, the host waiting, or bytes crossing between host and device.
bool forbidden(const std::string& name) {
  return has(name, "Alloc") || has(name, "Malloc") || has(name, "Free") ||
         has(name, "Synchronize") || has(name, "HtoD") || has(name, "DtoH") ||
         has(name, "HostRegister");
}
/// By the runtime's name alone a copy's direction cannot be told.
bool copies(const std::string& name) { return has(name, "Memcpy") || has(name, "memcpy"); }

class CudaSteadyLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device is visible to this process";
    if (!cupti().hindrance.empty()) GTEST_SKIP() << cupti().hindrance;
  }

  /// The calls of all steps of a request behind one that warmed the engine up.
  static std::map<std::string, int> calls_of_steps(const std::string& knobs, SamplerKind sampler) {
    const TempFolder folder;
    EngineOptions options;
    options.device = "cuda:0";
    options.precision = Precision::kF16;
    options.knobs_path = (folder.path() / "knobs.json").string();
    std::ofstream(options.knobs_path) << knobs;
    const auto engine = load(options);
    RequestSchedule schedule;
    schedule.sampler = sampler;
    schedule.timesteps = {999, 600, 200, 0};
    schedule.guidance = 1.5;
    const std::vector<std::int32_t> labels{1, 2, 3};
    const std::vector<float> start = latents(3);
    std::vector<float> out(start.size());
    const auto whole = [&](const auto& around_steps) {
      engine->prepare({3, 4, 8, 8}, schedule, labels);
      engine->set_latents(start);
      around_steps([&] {
        for (std::int64_t k = 0; k < 4; ++k) engine->step(k);
      });
      engine->read_latents(out);
    };
    whole([](const auto& steps) { steps(); });
    CallCounter counter;
    std::map<std::string, int> calls;
    whole([&](const auto& steps) {
      counter.clear();
      steps();
      calls = counter.calls();
    });
    const std::map<std::string, int> all = counter.calls();
    const auto waits = [](const auto& call) { return has(call.first, "Synchronize"); };
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), waits))
        << "the counter does not see the wait of read_latents, so it sees nothing";
    return calls;
  }
};

TEST_F(CudaSteadyLoopTest, RecordedStepsOnlyLaunch) {
  for (const SamplerKind sampler :
       {SamplerKind::kDdim, SamplerKind::kDdpm, SamplerKind::kDpmSolverPlusPlus2M}) {
    const auto calls = calls_of_steps("{}", sampler);
    int launches = 0;
    for (const auto& [name, count] : calls) {
      EXPECT_FALSE(forbidden(name) || copies(name)) << name << " x" << count;
      if (name.rfind("cudaGraphLaunch", 0) == 0) launches += count;
    }
    EXPECT_EQ(launches, 4) << to_string(sampler) << ": one graph for each step";
  }
}

// Op by op, copies within the device are launches like any other.
TEST_F(CudaSteadyLoopTest, PlainStepsNeitherAllocateNorWait) {
  const auto calls = calls_of_steps("{\"graph_capture\": false}", SamplerKind::kDdim);
  EXPECT_FALSE(calls.empty());
  for (const auto& [name, count] : calls) {
    EXPECT_FALSE(forbidden(name)) << name << " x" << count;
  }
}

}  // namespace
}  // namespace ditar
