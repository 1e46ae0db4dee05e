// How many CPU threads ops use. The count belongs to the calling thread (OpenMP's nthreads-var), so
// ranks that are threads of one process do not disturb each other. 1 means: no parallel region is
// ever entered. Results never depend on the count. For waiting without spinning set
// OMP_WAIT_POLICY=passive before the process starts.
#pragma once

namespace ditar {

/// Threads that ops called from this thread use. Default: what OpenMP finds (the cpuset's size).
int cpu_threads() noexcept;
/// @throws InvalidArgument if `threads` is below 1.
void set_cpu_threads(int threads);
/// Name of the instruction set that this process's CPU ops use: "avx2" or "generic".
const char* cpu_instructions() noexcept;

}  // namespace ditar
