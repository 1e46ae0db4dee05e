// Drives one rank's Engine through engine.h: turns wire values into engine values and back, counts
// finished steps for the heartbeat. One thread at a time; steps() may be read from another.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/config/wire_codec.h"
#include "ditar/parallel/communicator.h"
#include "ditar/worker/engine.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ditar {

class EngineRunner {
 public:
  /// `communicator` may be null for one rank; it must outlive this.
  EngineRunner(Communicator* communicator, int rank, std::string device, int threads)
      : communicator_(communicator), rank_(rank), device_(std::move(device)), threads_(threads) {}

  /// Loads the model and says what it is. @throws what make_engine throws.
  LoadReply load(const LoadRequest& request);
  /// Runs a request. `latents` gets the result on rank 0. @throws Error if nothing is loaded, and
  /// what the engine throws.
  void run(const RunRequest& request, std::vector<float>& latents);
  /// What the last load or run cost on this rank; takes the engine's records.
  RankReport report();

  /// Steps finished since the start.
  const std::atomic<std::uint64_t>& steps() const noexcept { return steps_; }

 private:
  Communicator* communicator_;
  int rank_;
  std::string device_;
  int threads_;
  std::unique_ptr<Engine> engine_;
  std::atomic<std::uint64_t> steps_ = 0;
  double milliseconds_ = 0.0;
};

/// Most memory the process had resident, in bytes.
std::int64_t peak_resident_bytes();

}  // namespace ditar
