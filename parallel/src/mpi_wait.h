// Checked MPI calls and bounded waits, shared by the MPI kinds. Private to parallel/src; the only
// header of the folder that shows MPI.
#pragma once

#include "ditar/config/error.h"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <string>

namespace ditar {

/// @throws MpiError with MPI's own text if `code` is not MPI_SUCCESS.
void check_mpi(int code, const std::string& what);

/// How a wait passes its time. kBusy spins for about a millisecond before it naps (between ranks
/// at work); kIdle naps from the start.
enum class MpiPatience { kBusy, kIdle };

/// Completes `request`. @throws TimeoutError naming rank and `what` after `deadline`, or Error if
/// `aborted` is set meanwhile; the request is left to the process's end then.
void wait_mpi(MPI_Request& request, int rank, const std::string& what,
              std::chrono::milliseconds deadline, const std::atomic<bool>* aborted,
              MpiPatience patience);

/// `size_bytes` as MPI's int count. @throws InvalidArgument above 2 GiB.
int mpi_count(std::size_t size_bytes);

}  // namespace ditar
