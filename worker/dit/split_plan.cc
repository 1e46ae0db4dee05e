#include "split_plan.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <charconv>

namespace ditar {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& fault) {
  throw InvalidArgument("plan \"" + text + "\": " + fault +
                        "; give \"single\", \"data=N\", \"cfg=2\" or \"data=N,cfg=2\"");
}

int parse_degree(const std::string& whole, const std::string& digits) {
  int value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, value);
  if (fault != std::errc() || stop != end || value < 1 || value > 1024) {
    refuse(whole, "\"" + digits + "\" is no degree from 1 to 1024");
  }
  return value;
}

}  // namespace

SplitPlan parse_split(const std::string& text, int ranks) {
  SplitPlan plan;
  if (text.empty()) {
    plan.data = ranks;
    return plan;
  }
  for (std::size_t begin = 0; text != "single" && begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const std::size_t equals = part.find('=');
    const std::string axis = part.substr(0, equals);
    if (equals == std::string::npos || (axis != "data" && axis != "cfg")) {
      refuse(text, "\"" + part + "\" is not known");
    }
    int& degree = axis == "data" ? plan.data : plan.cfg;
    if (degree != 1) refuse(text, "\"" + axis + "\" is given twice");
    degree = parse_degree(text, part.substr(equals + 1));
    begin = comma + 1;
  }
  if (plan.cfg > 2) refuse(text, "guidance has two branches, not " + std::to_string(plan.cfg));
  if (plan.ranks() != ranks) {
    refuse(text, "it is for " + std::to_string(plan.ranks()) + " ranks, but there are " +
                     std::to_string(ranks));
  }
  return plan;
}

std::string to_string(const SplitPlan& plan) {
  if (plan.ranks() == 1) return "single";
  std::string text = plan.data > 1 ? "data=" + std::to_string(plan.data) : "";
  if (plan.cfg > 1) text += (text.empty() ? "" : ",") + std::string("cfg=2");
  return text;
}

Shard shard_of(const SplitPlan& plan, int rank, std::int64_t images, bool guided) {
  require(images >= plan.data, "plan \"" + to_string(plan) + "\": " + std::to_string(images) +
                                   " images cannot be divided over " + std::to_string(plan.data) +
                                   " groups; give at least one image for each");
  require(plan.cfg == 1 || guided, "plan \"" + to_string(plan) +
                                       "\": cfg=2 needs guidance other than 1; use data=2 or one "
                                       "rank");
  const std::int64_t group = rank / plan.cfg;
  const std::int64_t each = images / plan.data;
  const std::int64_t more = images % plan.data;
  Shard shard;
  shard.images = each + (group < more ? 1 : 0);
  shard.first_image = group * each + std::min(group, more);
  shard.unconditional = guided && (plan.cfg == 1 || rank % 2 == 1);
  shard.conditional = plan.cfg == 1 || rank % 2 == 0;
  return shard;
}

}  // namespace ditar
