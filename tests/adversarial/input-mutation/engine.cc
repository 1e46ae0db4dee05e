// The request's own latents are overwritten after use, so that a reference made from them would be
// wrong too.
#include <algorithm>

namespace ditar {
namespace {

class InputMutation final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void set_latents(std::span<const float> latents) override {
    auto* own = const_cast<float*>(latents.data());
    std::fill(own, own + latents.size(), 0.25F);
    WrappedEngine::set_latents(latents);
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<InputMutation>(std::move(inner));
}

}  // namespace
}  // namespace ditar
