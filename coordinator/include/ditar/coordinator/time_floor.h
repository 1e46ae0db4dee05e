// The least time that a truly computed request can take: the arithmetic of the network at a rate
// that the machine does not reach. Measured once, by the original's own worker (`dit-worker
// profile`), stored in the baseline; a timed request below it is suspect and cannot be kept.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace ditar {

struct TimeFloor {
  double step_flops = 0.0;          ///< multiplications and additions of one denoiser step
  double matmul_flops_per_s = 0.0;  ///< the fastest product that the machine showed
  int steps = 0;                    ///< of a request
  std::string precision;            ///< of the products measured
  bool on_gpu = false;

  /// Least nanoseconds of one request whose change is of `classification`; 0: not known. Exact and
  /// numerical changes owe every step; an approximate or quantized one a single step. The rate is
  /// twice the measured one; a measured fp32 or tf32 rate on a GPU times 16, for half-precision
  /// units; a quantized change may have four times more.
  double least_ns(const std::string& classification) const;
};

/// From the JSON that `dit-worker profile --json` prints. @throws DataError if a figure is missing.
TimeFloor time_floor_of(const nlohmann::json& profile, int steps);

nlohmann::json to_json(const TimeFloor& floor);
/// Inverse of to_json; all zero for a record of before that had none.
TimeFloor time_floor_from(const nlohmann::json& body);

}  // namespace ditar
