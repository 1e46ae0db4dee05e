// The least time that a truly computed request can take: the arithmetic of the network at a rate
// that the machine does not reach. The arithmetic follows from the model's dimensions, the rate is
// measured once by the original's own worker (`dit-worker profile`); both stand in the baseline. A
// timed request below is suspect and cannot be kept.
#pragma once

#include "ditar/config/messages.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace ditar {

struct TimeFloor {
  double step_flops = 0.0;          ///< multiplications and additions of one denoiser step
  double matmul_flops_per_s = 0.0;  ///< the fastest that the machine showed, alone or in the model
  int steps = 0;                    ///< of a request
  std::string precision;            ///< of the products measured
  bool on_gpu = false;

  /// Least nanoseconds of one request whose change is of `classification`; 0: not known. Exact and
  /// numerical changes owe every step; an approximate or quantized one a single step. The rate is
  /// four times the measured one; a measured fp32 or tf32 rate on a GPU times 16, for
  /// half-precision units; a quantized change may have four times more.
  double least_ns(const std::string& classification) const;
};

/// FLOPs of one denoiser step over `rows` images (both branches of guidance counted): in every
/// block per token 24 D^2 for its linears (MLP four times as wide) and 4 N D for attention over N
/// tokens of width D. Embeddings, modulation and the last layer are left out. 0 for unknown
/// dimensions.
double dit_step_flops(const LoadReply& model, double rows);

/// Rate and precision of the JSON that `dit-worker profile --json` prints; no arithmetic yet.
/// @throws DataError if a figure is missing.
TimeFloor measured_rate(const nlohmann::json& profile);

nlohmann::json to_json(const TimeFloor& floor);
/// Inverse of to_json; all zero for a record of before that had none.
TimeFloor time_floor_from(const nlohmann::json& body);

}  // namespace ditar
