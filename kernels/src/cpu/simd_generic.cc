// The FP32 inner loops for any CPU: 4-wide vectors, multiply then add.
#define DITAR_SIMD_WIDTH 4
#define DITAR_SIMD_ROWS 2
#define DITAR_SIMD_FMA(a, b, c) ((a) * (b) + (c))
#define DITAR_SIMD_FMA_F64(a, b, c) ((a) * (b) + (c))
#define DITAR_SIMD_TABLE kSimdGeneric
#define DITAR_SIMD_NAME "generic"
#include "simd_kernels.inc"
