// Compiled with -mavx2 -mfma; only called where the processor has both.
#define DITAR_DENSE_NAMESPACE dense_avx2
#define DITAR_DENSE_NAME "avx2"
#include "dense_ops_impl.inl"
