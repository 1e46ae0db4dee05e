// The FP32 inner loops for x86-64 with AVX2 and FMA; compiled with -mavx2 -mfma, called only where
// the running CPU has both.
#if defined(__x86_64__)
#include <immintrin.h>
#define DITAR_SIMD_WIDTH 8
#define DITAR_SIMD_ROWS 6
#define DITAR_SIMD_FMA(a, b, c) ((Vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define DITAR_SIMD_FMA_F64(a, b, c) \
  ((VecF64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define DITAR_SIMD_TABLE kSimdAvx2
#define DITAR_SIMD_NAME "avx2"
#include "simd_kernels.inc"
#endif
