#include "ditar/kernels/cpu_threads.h"

#include "ditar/config/error.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace ditar {

#if defined(_OPENMP)
int cpu_threads() noexcept { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }
#else
int cpu_threads() noexcept { return 1; }
#endif

void set_cpu_threads(int threads) {
  require(threads >= 1, "the number of CPU threads must be 1 or more");
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
}

}  // namespace ditar
