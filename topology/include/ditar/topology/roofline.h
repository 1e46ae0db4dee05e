// Roofline time of one operation on one device: the slower of arithmetic (with the loss of unfilled
// waves of tiles) and memory traffic. Predictions, not measurements. Pure functions; thread-safe.
#pragma once

#include "ditar/topology/device_model.h"

namespace ditar {

/// C(M,N) = A(M,K) B(K,N). Tiles of several shapes and a K split in 1, 2 or 4 are tried as a tuned
/// library would; a wave of tiles that fills only part of the multiprocessors costs a whole one.
/// Seconds, launch not included. @throws InvalidArgument for a size < 1.
double gemm_seconds(const DeviceModel& device, Arithmetic arithmetic, double m, double n, double k);

/// The share of tile slots that do useful work for the best tile shape, in (0, 1].
double wave_efficiency(const DeviceModel& device, double m, double n);

/// Fused attention of `batch` samples with `heads` heads of `head_size`: `queries` rows against
/// `keys` rows each. Seconds, launch not included.
double attention_seconds(const DeviceModel& device, Arithmetic arithmetic, double batch,
                         double heads, double queries, double keys, double head_size);

/// Reading and writing `bytes`; traffic that fits half the last-level cache is served from it at
/// three times the memory's speed (assumed). Seconds, launch not included.
double traffic_seconds(const DeviceModel& device, double bytes, double working_set_bytes);

}  // namespace ditar
