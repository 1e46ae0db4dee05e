#include "simd_kernels.h"

#include "ditar/kernels/cpu_threads.h"

#include <cstdlib>
#include <string_view>

namespace ditar::cpu {
namespace {

const SimdKernels& choose() {
  const char* forced = std::getenv("DITAR_CPU_ISA");
  if (forced != nullptr && std::string_view(forced) == "generic") return kSimdGeneric;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kSimdAvx2;
#endif
  return kSimdGeneric;
}

}  // namespace

const SimdKernels& simd() {
  static const SimdKernels& chosen = choose();
  return chosen;
}

}  // namespace ditar::cpu

namespace ditar {

const char* cpu_instructions() noexcept { return cpu::simd().name; }

}  // namespace ditar
