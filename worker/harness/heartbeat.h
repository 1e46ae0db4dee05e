// A thread that calls a function twice a second while work goes on, so that the rest of the world
// hears of this rank while its main thread is inside the engine. Idle, it only looks at a flag; a
// request pays nothing for it.
#pragma once

#include "ditar/parallel/pulse.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace ditar {

class Heartbeat {
 public:
  /// `beat` runs on the heartbeat's thread and must not throw.
  /// `fds`: sockets; while work goes on, the end of one calls `beat` at once.
  /// `mind_terminate`: SIGTERM, which the caller has blocked in all threads, calls `beat` once more
  /// and then ends the process with 143.
  explicit Heartbeat(std::function<void()> beat, std::vector<int> fds = {},
                     bool mind_terminate = false);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Beats while one of these lives; made and ended by the thread whose pulse tells of the work.
  class Work {
   public:
    explicit Work(Heartbeat& heartbeat) : heartbeat_(heartbeat) {
      pulse_tick("what comes first");
      heartbeat_.busy_ = true;
    }
    ~Work() {
      pulse_idle();
      heartbeat_.busy_ = false;
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Heartbeat& heartbeat_;
  };

 private:
  void loop(bool mind_terminate);

  std::function<void()> beat_;
  std::vector<int> fds_;
  std::atomic<bool> busy_ = false;
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace ditar
