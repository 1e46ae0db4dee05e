#include "experiment/metered_launcher.h"

#include <chrono>
#include <utility>

namespace ditar {
namespace {

/// Adds the time of its scope to a sum, exceptions included.
class Meter {
 public:
  explicit Meter(double& seconds) : seconds_(seconds) {}
  ~Meter() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class MeteredSession final : public WorkerSession {
 public:
  MeteredSession(std::unique_ptr<WorkerSession> inner, double& seconds)
      : inner_(std::move(inner)), seconds_(seconds) {}
  ~MeteredSession() override {
    const Meter meter(seconds_);
    inner_.reset();
  }

  LoadResult load(const LoadRequest& request) override {
    const Meter meter(seconds_);
    return inner_->load(request);
  }
  RunResult run(const RunRequest& request) override {
    const Meter meter(seconds_);
    return inner_->run(request);
  }
  void stop() override {
    const Meter meter(seconds_);
    inner_->stop();
  }
  const std::vector<RankHello>& ranks() const override { return inner_->ranks(); }
  std::vector<pid_t> pids() const override { return inner_->pids(); }
  WorkerTraces traces() const override { return inner_->traces(); }

 private:
  std::unique_ptr<WorkerSession> inner_;
  double& seconds_;
};

class MeteredLauncher final : public WorkerLauncher {
 public:
  MeteredLauncher(std::unique_ptr<WorkerLauncher> inner, double& seconds)
      : inner_(std::move(inner)), seconds_(seconds) {}

  LoadedWorker start(const Arm& arm, const StartOptions& options) override {
    const Meter meter(seconds_);
    LoadedWorker worker = inner_->start(arm, options);
    worker.session = std::make_unique<MeteredSession>(std::move(worker.session), seconds_);
    return worker;
  }

 private:
  std::unique_ptr<WorkerLauncher> inner_;
  double& seconds_;
};

}  // namespace

std::unique_ptr<WorkerLauncher> meter_launcher(std::unique_ptr<WorkerLauncher> inner,
                                               double& seconds) {
  return std::make_unique<MeteredLauncher>(std::move(inner), seconds);
}

}  // namespace ditar
