#define DITAR_DENSE_NAMESPACE dense_portable
#define DITAR_DENSE_NAME "portable"
#include "dense_ops_impl.inl"
