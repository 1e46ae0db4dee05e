// Serve mode: the part of dit-worker that a coordinator launches. Rank 0 speaks to the coordinator,
// the others take their work from rank 0.
#pragma once

#include <string>

namespace ditar {

struct ServeOptions {
  std::string coord;    ///< the coordinator's endpoint
  std::string attempt;  ///< 32 hex digits
};

/// Serves until the coordinator says stop; gives the exit code. Ends the process itself, without
/// MPI_Finalize, when a peer is gone or the engine failed: the launcher then ends the group.
/// @throws InvalidArgument if this process was not started as the launch plan says.
int serve(const ServeOptions& options);

}  // namespace ditar
