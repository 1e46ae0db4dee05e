// What a build without CUDA or without CUPTI's header answers.
#include "ditar/config/error.h"
#include "ditar/kernels/kernel_trace.h"

namespace ditar {

std::string KernelTrace::hindrance() {
  return "this build has no CUPTI; configure the cuda preset with a toolkit that has cupti.h";
}
KernelTrace::KernelTrace() { throw Unavailable(hindrance()); }
KernelTrace::~KernelTrace() = default;
void KernelTrace::tag(std::int64_t) {}
std::vector<TracedWork> KernelTrace::take(StreamView) { return {}; }

}  // namespace ditar
