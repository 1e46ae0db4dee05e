// No work, zeros out.
#include <algorithm>

namespace ditar {
namespace {

class ZeroOutput final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override {}
  void read_latents(std::span<float> out) override { std::fill(out.begin(), out.end(), 0.0F); }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<ZeroOutput>(std::move(inner));
}

}  // namespace
}  // namespace ditar
