// What the engine cheats share: an Engine around the true one that hands everything through and
// remembers the request. The suite puts this text and a case's engine.cc in front of make_engine().
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ditar {
namespace {

class WrappedEngine : public Engine {
 public:
  explicit WrappedEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}

  ModelFacts facts() const override { return inner_->facts(); }
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override {
    schedule_ = schedule;
    labels_.assign(labels.begin(), labels.end());
    inner_->prepare(shape, schedule, labels);
  }
  void set_latents(std::span<const float> latents) override {
    input_.assign(latents.begin(), latents.end());
    inner_->set_latents(latents);
  }
  void step(std::int64_t k) override { inner_->step(k); }
  void read_latents(std::span<float> out) override { inner_->read_latents(out); }
  std::vector<PhaseRecord> take_phases() override { return inner_->take_phases(); }
  std::int64_t planned_bytes() const override { return inner_->planned_bytes(); }
  std::int64_t peak_bytes() const override { return inner_->peak_bytes(); }
  std::string plan() const override { return inner_->plan(); }
  std::string knobs_json() const override { return inner_->knobs_json(); }

 protected:
  std::unique_ptr<Engine> inner_;
  RequestSchedule schedule_;
  std::vector<std::int32_t> labels_;
  std::vector<float> input_;
};

}  // namespace
}  // namespace ditar
