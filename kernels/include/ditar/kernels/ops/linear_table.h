// Which library algorithm each Linear on a CUDA device runs, per shape. Without a table the
// library's own proposal is taken. Thread-safe; a table serves all Linears of the device in this
// process. Steps recorded as graphs keep the algorithm that they were recorded with.
#pragma once

#include "ditar/kernels/stream.h"

#include <string>

namespace ditar {

/// Times up to `candidates` algorithms for every shape that ran on the device so far, weights read
/// cold, keeps the fastest of each and gives the table as text. Blocks, allocates, takes seconds.
/// @throws Unavailable on the CPU, CublasError if a shape has no algorithm that runs.
std::string tune_linears(Device device, int candidates, StreamView stream);

/// Takes a table that tune_linears() gave. False, and nothing is taken, if it is of another GPU or
/// library version. @throws DataError naming a damaged line; Unavailable on the CPU.
bool load_linear_table(Device device, const std::string& text);

}  // namespace ditar
