// Ranks as processes under mpirun or srun: MPI for the Bootstrap and for collectives over host
// memory. No MPI type shows. MpiRuntime is made once, by the main thread, before anything else of
// this header; objects are used by one thread at a time.
#pragma once

#include "ditar/parallel/bootstrap.h"
#include "ditar/parallel/communicator.h"

#include <chrono>
#include <memory>
#include <string>

namespace ditar {

/// MPI_Init to MPI_Finalize. Threads other than the maker's make no MPI call.
class MpiRuntime {
 public:
  /// @throws MpiError if MPI cannot start.
  MpiRuntime();
  /// Finalizes unless abandon() was called.
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// "Open MPI v4.1.4".
  static std::string library();
  /// Skips MPI_Finalize, which waits for ranks that may be gone.
  void abandon() noexcept { abandoned_ = true; }

 private:
  int rank_ = 0;
  int size_ = 1;
  bool abandoned_ = false;
};

/// Over all ranks. `deadline` bounds each wait for the others.
std::unique_ptr<Bootstrap> make_mpi_bootstrap(std::chrono::milliseconds deadline);
/// Over all ranks, host memory. Waits spin first and then sleep in short naps, up to `deadline`.
std::unique_ptr<Communicator> make_mpi_communicator(std::chrono::milliseconds deadline);

}  // namespace ditar
