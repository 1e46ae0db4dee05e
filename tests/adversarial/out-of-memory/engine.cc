// Takes memory until there is none.
namespace ditar {
namespace {

class OutOfMemory final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override {
    while (true) {
      hoard_.emplace_back(std::size_t{256} << 20, 1);
    }
  }

 private:
  std::vector<std::vector<char>> hoard_;
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<OutOfMemory>(std::move(inner));
}

}  // namespace
}  // namespace ditar
