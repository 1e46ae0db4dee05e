// What a group's processes find in their environment: an allow-list, the plan's own, and the
// launch's. Private to coordinator/src/launch. Stateless.
#pragma once

#include "ditar/coordinator/launch_plan.h"

#include <map>
#include <string>
#include <vector>

namespace ditar {

/// The launch's secrets and names.
struct LaunchSecrets {
  std::string attempt;  ///< hex
  std::string nonce;
  std::string curve;      ///< "server_public client_public client_secret", or empty
  std::string temporary;  ///< folder
};

inline constexpr const char* kTagVariable = "DITAR_TAG";

/// Name to value. OMP_NUM_THREADS is the largest thread count of the plan; waiting is passive.
std::map<std::string, std::string> launch_environment(const LaunchPlan& plan,
                                                      const LaunchSecrets& secrets);
/// @throws InvalidArgument naming what is wrong with the plan itself.
void check_plan(const LaunchPlan& plan);

}  // namespace ditar
