// Latents are rounded to ten bits of fraction between the steps.
namespace ditar {
namespace {

class HalfPrecision final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void read_latents(std::span<float> out) override {
    inner_->read_latents(out);
    for (float& value : out) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      bits = (bits + 0x1000U) & 0xffffe000U;
      std::memcpy(&value, &bits, sizeof bits);
    }
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<HalfPrecision>(std::move(inner));
}

}  // namespace
}  // namespace ditar
