// One step of a longer schedule is left out.
namespace ditar {
namespace {

class SkippedStep final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t k) override {
    if (schedule_.timesteps.size() > 4 && k == 4) return;
    inner_->step(k);
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<SkippedStep>(std::move(inner));
}

}  // namespace
}  // namespace ditar
