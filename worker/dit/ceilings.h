// What the device at hand reaches at best, measured in a fraction of a second: the roofline that a
// profile is held against. Blocks; allocates and frees its own operands. One thread at a time.
#pragma once

#include "ditar/kernels/dtype.h"
#include "ditar/kernels/stream.h"

namespace ditar {

struct Ceilings {
  double matmul_flops_per_s = 0.0;  ///< a square product, fastest of several
  double copy_bytes_per_s = 0.0;    ///< bytes read plus bytes written, operands beyond any cache
};

/// On the CPU with cpu_threads() of the calling thread. `allow_tf32` is that of Linear.
/// @throws OutOfMemory.
Ceilings measure_ceilings(DType dtype, bool allow_tf32, StreamView stream);

}  // namespace ditar
