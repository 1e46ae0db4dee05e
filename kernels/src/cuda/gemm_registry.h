// The GemmLt of each device: made at first use, shared by all layers, living as long as the
// process. Thread-safe.
#pragma once

#include "gemm_lt.h"

namespace ditar::cuda {

GemmLt& gemm_of(int device);

}  // namespace ditar::cuda
