// One label for all.
namespace ditar {
namespace {

class LabelIgnored final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override {
    const std::vector<std::int32_t> same(labels.size(), 3);
    WrappedEngine::prepare(shape, schedule, same);
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<LabelIgnored>(std::move(inner));
}

}  // namespace
}  // namespace ditar
