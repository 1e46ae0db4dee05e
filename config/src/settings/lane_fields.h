// The keys of a lane. Internal to config/src/settings.
#pragma once

#include "ditar/config/lane.h"
#include "settings/fields.h"

#include <string>
#include <vector>

namespace ditar {

/// Reads and cross-checks one lane. @throws ConfigError with the place.
LaneConfig read_lane(const std::string& name, const JsonNode& node);
/// Adds "lanes.*.steps" and so on.
void add_lane_keys(std::vector<std::string>& keys);
/// The keys of a lane's "decision" object. The default quick profile is the struct's own.
const Fields<DecisionSettings>& decision_fields();

}  // namespace ditar
