// As after a launch that failed unseen: the buffer keeps the answer before.
#include <algorithm>

namespace ditar {
namespace {

class StaleBuffer final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void read_latents(std::span<float> out) override {
    std::vector<float> fresh(out.size());
    inner_->read_latents(fresh);
    const std::vector<float>& given = before_.size() == fresh.size() ? before_ : fresh;
    std::copy(given.begin(), given.end(), out.begin());
    before_ = fresh;
  }

 private:
  std::vector<float> before_;
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<StaleBuffer>(std::move(inner));
}

}  // namespace
}  // namespace ditar
