// One value that is not a number, past the engine's own check.
#include <limits>

namespace ditar {
namespace {

class NanOutput final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void read_latents(std::span<float> out) override {
    inner_->read_latents(out);
    out.back() = std::numeric_limits<float>::quiet_NaN();
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<NanOutput>(std::move(inner));
}

}  // namespace
}  // namespace ditar
