// Never answers, deaf to SIGTERM.
#include <unistd.h>

#include <csignal>

namespace ditar {
namespace {

class Hang final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t) override {
    std::signal(SIGTERM, SIG_IGN);
    while (true) ::pause();
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<Hang>(std::move(inner));
}

}  // namespace
}  // namespace ditar
