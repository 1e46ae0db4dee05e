// Ties this process to its launcher's life. Call first in main(). Thread-safe.
#pragma once

namespace ditar {

/// Asks the kernel to kill this process when its parent ends, and ends it now with exit code 75 if
/// the parent is gone already. Nothing survives a killed mpirun, not even before MPI_Init.
void die_with_parent();

}  // namespace ditar
