#include "ditar/kernels/ops/patch.h"

#include "check.h"
#include "cpu_ops.h"
#include "cuda_ops.h"

namespace ditar {
namespace {

void check_pair(const char* op, ConstTensorView image, std::int64_t patch, ConstTensorView tokens,
                StreamView stream) {
  check::supported(supports_patch(image.device(), image.dtype()), op, image.device(),
                   image.dtype());
  check::rank(op, "image", image, 4);
  check::dense(op, "image", image);
  for (const int axis : {2, 3}) {
    if (patch < 1 || image.size(axis) % patch != 0) {
      check::fail(op, "image",
                  "has size " + std::to_string(image.size(axis)) + " on axis " +
                      std::to_string(axis) + ", not a multiple of patch " + std::to_string(patch));
    }
  }
  const std::int64_t count = image.size(2) / patch * (image.size(3) / patch);
  // On CUDA the copy may convert between dtypes on its way.
  const bool converts = check::is_cuda(image) && supports_patch(tokens.device(), tokens.dtype());
  check::dense_like(op, "tokens", tokens,
                    Shape{image.size(0) * count, image.size(1) * patch * patch},
                    converts ? tokens.dtype() : image.dtype(), image.device());
  check::stream(op, stream, image.device());
}

}  // namespace

bool supports_patch(Device device, DType dtype) noexcept {
  return check::is_cpu_float(device, dtype) || cuda::serves(device, dtype);
}

void patchify(ConstTensorView image, std::int64_t patch, TensorView tokens, StreamView stream) {
  check_pair("patchify", image, patch, tokens, stream);
  if (check::is_cuda(image)) return cuda::patchify(image, patch, tokens, stream);
  cpu::patchify(image, patch, tokens);
}

void unpatchify(ConstTensorView tokens, std::int64_t patch, TensorView image, StreamView stream) {
  check_pair("unpatchify", image, patch, tokens, stream);
  if (check::is_cuda(image)) return cuda::unpatchify(tokens, patch, image, stream);
  cpu::unpatchify(tokens, patch, image);
}

}  // namespace ditar
