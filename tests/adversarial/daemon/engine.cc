// Leaves a process of its own session behind, as a double fork does.
#include <unistd.h>

namespace ditar {
namespace {

class Daemon final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void step(std::int64_t k) override {
    if (!forked_ && ::fork() == 0) {
      ::setsid();
      if (::fork() == 0) {
        while (true) ::pause();
      }
      ::_exit(0);
    }
    forked_ = true;
    inner_->step(k);
  }

 private:
  bool forked_ = false;
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<Daemon>(std::move(inner));
}

}  // namespace
}  // namespace ditar
