// What all ranks of a group must have alike before they exchange anything: a rank with another
// model, plan or shape would hang the others or spoil their sums.
#pragma once

#include "ditar/parallel/communicator.h"

#include <string>
#include <vector>

namespace ditar {

struct AgreedField {
  std::string name;   ///< as a person reads it: "plan", "dtype"
  std::string value;  ///< compared as text
};

/// Compares the fields of all ranks; blocks, host memory. One exchange of 8 bytes where they agree.
/// @throws InvalidArgument on every rank, naming the first rank that differs from rank 0, the field
/// and both values.
void require_agreement(Communicator& world, const std::vector<AgreedField>& fields);

}  // namespace ditar
