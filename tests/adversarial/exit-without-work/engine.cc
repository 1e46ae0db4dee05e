// Ends the process with success in the middle of a request.
#include <unistd.h>

namespace ditar {
namespace {

class ExitWithoutWork final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override { ::_exit(0); }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<ExitWithoutWork>(std::move(inner));
}

}  // namespace
}  // namespace ditar
