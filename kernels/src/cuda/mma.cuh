// Tensor-core and asynchronous-copy primitives of sm_80 and later: mma.sync, ldmatrix, cp.async.
// One inline function per instruction; fragments are named as the PTX ISA draws them. Included by
// .cu files only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ditar::cuda {

/// Shared-memory address as PTX takes it.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes global -> shared, or writes 16 zero bytes where `valid` is false (nothing is
/// read).
__device__ inline void copy_async_16(void* shared, const void* global, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes));
}
__device__ inline void copy_async_commit() { asm volatile("cp.async.commit_group;\n"); }
/// Waits until at most `Pending` of the committed groups are still on their way.
template <int Pending>
__device__ inline void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Pending));
}

/// Four 8x8 16-bit matrices; lane l gives the row address of matrix l / 8, row l % 8.
__device__ inline void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
__device__ inline void load_matrix_x2(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row)));
}
__device__ inline void load_matrix_x4_transposed(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
__device__ inline void load_matrix_x2_transposed(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row)));
}

/// The 16-bit formats behind one face: T is __half or __nv_bfloat16.
template <typename T>
struct Mma;

#define DITAR_DEFINE_MMA(TYPE, PTX)                                                 \
  template <>                                                                       \
  struct Mma<TYPE> {                                                                \
    /* c (16,8) f32 += a (16,16) * b (16,8) */                                      \
    static __device__ inline void k16(float (&c)[4], const std::uint32_t (&a)[4],   \
                                      std::uint32_t b0, std::uint32_t b1) {         \
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." PTX "." PTX             \
                   ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"   \
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
    }                                                                               \
    /* c (16,8) f32 += a (16,8) * b (8,8) */                                        \
    static __device__ inline void k8(float (&c)[4], const std::uint32_t (&a)[2],    \
                                     std::uint32_t b0) {                            \
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." PTX "." PTX              \
                   ".f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"            \
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                 \
                   : "r"(a[0]), "r"(a[1]), "r"(b0));                                \
    }                                                                               \
  }
DITAR_DEFINE_MMA(__half, "f16");
DITAR_DEFINE_MMA(__nv_bfloat16, "bf16");
#undef DITAR_DEFINE_MMA

/// Two floats rounded to T, `low` in the low half of the word.
template <typename T>
__device__ inline std::uint32_t pack(float low, float high);
template <>
__device__ inline std::uint32_t pack<__half>(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
template <>
__device__ inline std::uint32_t pack<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

/// 2^x, flushing to 0 for -infinity.
__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace ditar::cuda
