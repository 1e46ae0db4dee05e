// Does a group's hello agree with its plan? Private to coordinator/src/launch. Stateless.
#pragma once

#include "ditar/config/messages.h"
#include "ditar/coordinator/launch_plan.h"

#include <string>

namespace ditar {

/// One sentence on the first disagreement (version, nonce, build, size, ranks, devices, CPUs,
/// threads, one GPU given twice), or nothing if all is as planned.
std::string hello_objection(const GroupHello& hello, const LaunchPlan& plan,
                            const std::string& nonce, const std::string& build_hash);

}  // namespace ditar
