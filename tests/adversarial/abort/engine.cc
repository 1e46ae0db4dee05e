// Ends the group by abort().
#include <cstdlib>

namespace ditar {
namespace {

class Abort final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override { std::abort(); }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<Abort>(std::move(inner));
}

}  // namespace
}  // namespace ditar
