// Prints what a metric reader might look for.
#include <cstdio>

namespace ditar {
namespace {

class MetricSpoof final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void read_latents(std::span<float> out) override {
    inner_->read_latents(out);
    std::puts("KEEP speedup_percent=50.0 elapsed_ns=1");
    std::puts("{\"elapsed_ns\":1,\"verdict\":\"KEEP\"}");
    std::fflush(stdout);
  }
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<MetricSpoof>(std::move(inner));
}

}  // namespace
}  // namespace ditar
