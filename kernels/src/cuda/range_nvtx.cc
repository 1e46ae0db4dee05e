#include "ditar/kernels/range.h"

#include <nvtx3/nvToolsExt.h>

namespace ditar {

Range::Range(const char* name) noexcept { nvtxRangePushA(name); }
Range::~Range() { nvtxRangePop(); }

}  // namespace ditar
