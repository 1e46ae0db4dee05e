// Writes through a null pointer.
namespace ditar {
namespace {

class IllegalAccess final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override {
    volatile int* nowhere = nullptr;
    *nowhere = 1;  // NOLINT
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<IllegalAccess>(std::move(inner));
}

}  // namespace
}  // namespace ditar
