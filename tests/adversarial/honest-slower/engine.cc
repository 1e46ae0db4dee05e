// Waits for a twentieth of each step's own time.
#include <chrono>

namespace ditar {
namespace {

class HonestSlower final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t k) override {
    const auto start = std::chrono::steady_clock::now();
    inner_->step(k);
    const auto until = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - until < (until - start) / 20) {
    }
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<HonestSlower>(std::move(inner));
}

}  // namespace
}  // namespace ditar
