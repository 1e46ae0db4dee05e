// A named stretch of the calling thread for profilers (NVTX): shown by Nsight where the build has
// CUDA and such a tool is attached, else nothing. Costs a few nanoseconds unattended.
#pragma once

namespace ditar {

class Range {
 public:
  /// `name` must outlive the range.
  explicit Range(const char* name) noexcept;
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace ditar
