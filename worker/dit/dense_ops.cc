#include "dense_ops.h"

namespace ditar {
namespace dense_portable {
template <typename T>
const DenseOps<T>& table();
extern template const DenseOps<float>& table<float>();
extern template const DenseOps<double>& table<double>();
}  // namespace dense_portable
#ifdef DITAR_HAVE_AVX2_FILE
namespace dense_avx2 {
template <typename T>
const DenseOps<T>& table();
extern template const DenseOps<float>& table<float>();
extern template const DenseOps<double>& table<double>();
}  // namespace dense_avx2
#endif

template <typename T>
const DenseOps<T>& portable_dense_ops() {
  return dense_portable::table<T>();
}

template <typename T>
const DenseOps<T>& dense_ops() {
#ifdef DITAR_HAVE_AVX2_FILE
  static const bool avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2) return dense_avx2::table<T>();
#endif
  return dense_portable::table<T>();
}

template const DenseOps<float>& portable_dense_ops<float>();
template const DenseOps<double>& portable_dense_ops<double>();
template const DenseOps<float>& dense_ops<float>();
template const DenseOps<double>& dense_ops<double>();

}  // namespace ditar
