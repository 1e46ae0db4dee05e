// A thread that calls a function twice a second while work goes on, so that the rest of the world
// hears of this rank while its main thread is inside the engine. Idle, it only looks at a flag; a
// request pays nothing for it.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace ditar {

class Heartbeat {
 public:
  /// `beat` runs on the heartbeat's thread and must not throw.
  explicit Heartbeat(std::function<void()> beat);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Beats while one of these lives.
  class Work {
   public:
    explicit Work(Heartbeat& heartbeat) : heartbeat_(heartbeat) { heartbeat_.busy_ = true; }
    ~Work() { heartbeat_.busy_ = false; }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Heartbeat& heartbeat_;
  };

 private:
  std::function<void()> beat_;
  std::atomic<bool> busy_ = false;
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace ditar
