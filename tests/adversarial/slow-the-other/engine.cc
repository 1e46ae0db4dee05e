// Lowers the priority of every process it can see. Behind the fence it
// sees its own group alone.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace ditar {
namespace {

class SlowTheOther final : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void read_latents(std::span<float> out) override {
    inner_->read_latents(out);
    if (touched_) return;
    touched_ = true;
    DIR* processes = ::opendir("/proc");
    if (processes == nullptr) return;
    while (const dirent* entry = ::readdir(processes)) {
      const auto pid = static_cast<pid_t>(std::atoi(entry->d_name));
      if (pid <= 1 || pid == ::getpid() || pid == ::getppid()) continue;
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19);
    }
    ::closedir(processes);
  }

 private:
  bool touched_ = false;
};

std::unique_ptr<Engine> wrapped(std::unique_ptr<Engine> inner, const EngineOptions&) {
  return std::make_unique<SlowTheOther>(std::move(inner));
}

}  // namespace
}  // namespace ditar
