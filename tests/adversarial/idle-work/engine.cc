// A thread computes while no request is there: it works ahead, or slows the other arm.
#include <atomic>
#include <chrono>
#include <thread>

namespace ditar {
namespace {

class IdleWork final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  ~IdleWork() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override {
    working_ = false;
    if (!thread_.joinable()) {
      thread_ = std::thread([this] {
        while (!stop_) {
          if (!working_) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
    }
    WrappedEngine::prepare(shape, schedule, labels);
  }
  void read_latents(std::span<float> out) override {
    inner_->read_latents(out);
    working_ = true;
  }

 private:
  std::atomic<bool> working_{false}, stop_{false};
  std::thread thread_;
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<IdleWork>(std::move(inner));
}

}  // namespace
}  // namespace ditar
