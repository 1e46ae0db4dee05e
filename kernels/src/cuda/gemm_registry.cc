#include "gemm_registry.h"

#include <map>
#include <memory>
#include <mutex>

namespace ditar::cuda {

GemmLt& gemm_of(int device) {
  static std::mutex mutex;
  // Never destroyed: layers may outlive static objects, and the driver frees all at exit.
  static auto& made = *new std::map<int, std::unique_ptr<GemmLt>>;
  const std::scoped_lock lock(mutex);
  std::unique_ptr<GemmLt>& gemm = made[device];
  if (gemm == nullptr) gemm = std::make_unique<GemmLt>(device);
  return *gemm;
}

}  // namespace ditar::cuda
