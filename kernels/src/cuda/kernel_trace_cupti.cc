// KernelTrace over CUPTI's activity records. CUPTI hands filled buffers to a callback; their
// records collect here until take(). A tag is an external correlation id: the API call that
// launched a kernel carries it, and kernel and call share a correlation id.
#include "cupti_library.h"
#include "ditar/config/error.h"
#include "ditar/kernels/device.h"
#include "ditar/kernels/kernel_trace.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

namespace ditar {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::array kKinds{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                            CUPTI_ACTIVITY_KIND_RUNTIME,
                            CUPTI_ACTIVITY_KIND_DRIVER,
                            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                            CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMSET};

struct Ran {
  std::string name;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t correlation = 0;
};

struct Sink {
  std::mutex mutex;
  bool open = false;
  std::vector<Ran> ran;
  std::map<std::uint32_t, std::int64_t> tags;  ///< by correlation id
};

Sink& sink() {
  static auto& only = *new Sink;  // CUPTI's threads may outlive static objects
  return only;
}

const cuda::CuptiLibrary& cupti() { return cuda::CuptiLibrary::get(); }

void check(CUptiResult code, const char* what) {
  if (code == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cupti().result_string(code, &text);
  throw Unavailable(std::string(what) + " failed: " + (text == nullptr ? "unknown" : text) +
                    "; another profiler may hold the GPU");
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *records = 0;
}

void keep(Sink& to, const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      to.ran.push_back({kernel->name == nullptr ? "kernel" : kernel->name, kernel->start,
                        kernel->end, kernel->correlationId});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      to.ran.push_back({"memcpy", copy->start, copy->end, copy->correlationId});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* fill = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      to.ran.push_back({"memset", fill->start, fill->end, fill->correlationId});
      return;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto* tag = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      to.tags[tag->correlationId] = static_cast<std::int64_t>(tag->externalId);
      return;
    }
    default:
      return;
  }
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes) {
  {
    Sink& to = sink();
    const std::scoped_lock lock(to.mutex);
    CUpti_Activity* record = nullptr;
    while (to.open && cupti().activity_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      keep(to, record);
    }
  }
  std::free(buffer);
}

}  // namespace

std::string KernelTrace::hindrance() {
  if (cuda_device_count() == 0) return "no CUDA device is visible to this process";
  return cupti().hindrance;
}

KernelTrace::KernelTrace() {
  if (const std::string why = hindrance(); !why.empty()) throw Unavailable(why);
  {
    Sink& to = sink();
    const std::scoped_lock lock(to.mutex);
    if (to.open) throw Error("a trace is open already; close it before opening another");
    to.open = true;
    to.ran.clear();
    to.tags.clear();
  }
  try {
    check(cupti().activity_register_callbacks(give_buffer, take_buffer),
          "cuptiActivityRegisterCallbacks");
    for (const CUpti_ActivityKind kind : kKinds) {
      check(cupti().activity_enable(kind), "cuptiActivityEnable");
    }
    check(cupti().push_tag(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 0), "cuptiActivityPush");
  } catch (...) {
    for (const CUpti_ActivityKind kind : kKinds) cupti().activity_disable(kind);
    const std::scoped_lock lock(sink().mutex);
    sink().open = false;
    throw;
  }
}

KernelTrace::~KernelTrace() {
  cupti().pop_tag(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  cupti().activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  for (const CUpti_ActivityKind kind : kKinds) cupti().activity_disable(kind);
  const std::scoped_lock lock(sink().mutex);
  sink().open = false;
}

void KernelTrace::tag(std::int64_t value) {
  cupti().pop_tag(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  check(
      cupti().push_tag(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, static_cast<std::uint64_t>(value)),
      "cuptiActivityPushExternalCorrelationId");
}

std::vector<TracedWork> KernelTrace::take(StreamView stream) {
  stream.synchronize();
  check(cupti().activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  Sink& from = sink();
  const std::scoped_lock lock(from.mutex);
  std::stable_sort(from.ran.begin(), from.ran.end(),
                   [](const Ran& a, const Ran& b) { return a.begin_ns < b.begin_ns; });
  std::vector<TracedWork> work;
  for (const Ran& ran : from.ran) {
    const auto tag = from.tags.find(ran.correlation);
    work.push_back({ran.name, static_cast<double>(ran.end_ns - ran.begin_ns) * 1e-3,
                    static_cast<double>(ran.begin_ns - from.ran.front().begin_ns) * 1e-3,
                    tag == from.tags.end() ? -1 : tag->second});
  }
  from.ran.clear();
  from.tags.clear();
  return work;
}

}  // namespace ditar
