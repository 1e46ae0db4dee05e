// The one place where CPU ops use threads. Work is cut into contiguous ranges of whole items, one
// per thread; an item's result must not depend on the cut. Internal to kernels.
#pragma once

#include "ditar/kernels/cpu_threads.h"

#include <algorithm>
#include <cstdint>
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace ditar::cpu {

/// A range below this many elementary operations runs on the calling thread: a parallel region
/// costs about as much.
inline constexpr std::int64_t kMinimumWork = 16384;

/// Calls body(begin, end, thread) over [0, items) cut into at most cpu_threads() ranges.
/// `work` is the rough number of elementary operations of all items. body must not throw.
template <typename Body>
void parallel_for(std::int64_t items, std::int64_t work, const Body& body) {
  if (items <= 0) return;
#if defined(_OPENMP)
  const std::int64_t wanted =
      std::min<std::int64_t>({cpu_threads(), items, 1 + work / kMinimumWork});
  if (wanted > 1) {
#pragma omp parallel num_threads(static_cast <int>(wanted))
    {
      const std::int64_t threads = omp_get_num_threads();
      const std::int64_t thread = omp_get_thread_num();
      const std::int64_t begin = items * thread / threads;
      const std::int64_t end = items * (thread + 1) / threads;
      if (begin < end) body(begin, end, static_cast<int>(thread));
    }
    return;
  }
#endif
  body(0, items, 0);
}

}  // namespace ditar::cpu
