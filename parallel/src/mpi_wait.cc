#include "mpi_wait.h"

#include "ditar/parallel/pulse.h"

#include <sched.h>

#include <limits>
#include <optional>
#include <thread>

namespace ditar {

void check_mpi(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw MpiError(what + " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

void wait_mpi(MPI_Request& request, int rank, const std::string& what,
              std::chrono::milliseconds deadline, const std::atomic<bool>* aborted,
              MpiPatience patience) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::optional<PulseWait> waiting;
  for (std::uint64_t turn = 0;; ++turn) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
    if (done != 0) return;
    if (patience == MpiPatience::kBusy && turn % 64 != 63) continue;
    if (!waiting) waiting.emplace(what);
    const auto waited = Clock::now() - start;
    if (aborted != nullptr && aborted->load()) {
      throw Error("rank " + std::to_string(rank) + ": the group was aborted during " + what,
                  ExitCode::kTemporary);
    }
    if (waited > deadline) {
      throw TimeoutError("rank " + std::to_string(rank) + " waited " +
                         std::to_string(deadline.count()) + " ms in " + what +
                         " for the other ranks");
    }
    if (patience == MpiPatience::kBusy && waited < std::chrono::milliseconds(1)) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(
          std::chrono::microseconds(patience == MpiPatience::kBusy ? 20 : 500));
    }
  }
}

int mpi_count(std::size_t size_bytes) {
  require(size_bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
          "a block of " + std::to_string(size_bytes) +
              " bytes is above MPI's 2 GiB per call; send it in parts");
  return static_cast<int>(size_bytes);
}

}  // namespace ditar
