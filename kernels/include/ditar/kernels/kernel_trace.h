// What ran on a GPU and for how long, by the GPU's own clock: kernels, copies and fills, in graphs
// too (CUPTI, loaded at run time). For diagnosis: while a trace is open launches cost more. One
// trace at a time in a process.
#pragma once

#include "ditar/kernels/stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ditar {

/// One kernel, copy or fill.
struct TracedWork {
  std::string name;
  double microseconds = 0.0;
  double begin_us = 0.0;  ///< since the first of the trace
  std::int64_t tag = -1;  ///< of what was enqueued outside of a graph; -1: none
};

class KernelTrace {
 public:
  /// Why no trace can be made here, or nothing.
  static std::string hindrance();

  /// Opens a trace of the calling process. @throws Unavailable with the hindrance; Error while
  /// another one is open.
  KernelTrace();
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Marks what the calling thread enqueues from now on.
  void tag(std::int64_t value);
  /// Waits for `stream`; gives what ran since the last take, in the order of its start.
  std::vector<TracedWork> take(StreamView stream);
};

}  // namespace ditar
