#include "ditar/config/settings.h"

#include "ditar/config/error.h"
#include "ditar/config/json_document.h"
#include "ditar/config/sha256.h"
#include "settings/fields.h"
#include "settings/lane_fields.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace ditar {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostSeconds = 7 * 24 * 3600;

const Fields<LaneRule>& rule_fields() {
  static const Fields<LaneRule> fields = {
      text_field("gpu", &LaneRule::gpu),
      integer_field("min_gpus", &LaneRule::min_gpus, 0, 1024),
      text_field("lane", &LaneRule::lane),
  };
  return fields;
}

const Fields<BudgetSettings>& budget_fields() {
  using B = BudgetSettings;
  static const Fields<B> fields = {
      integer_field("disk_bytes", &B::disk_bytes, 1 << 20, kMostBytes),
      integer_field("min_free_bytes", &B::min_free_bytes, 0, kMostBytes),
      integer_field("experiment_seconds", &B::experiment_seconds, 1, kMostSeconds),
      integer_field("build_seconds", &B::build_seconds, 1, kMostSeconds),
      integer_field("check_seconds", &B::check_seconds, 1, kMostSeconds),
  };
  return fields;
}

const Fields<LaunchSettings>& launch_fields() {
  using L = LaunchSettings;
  static const Fields<L> fields = {
      text_field("mpirun", &L::mpirun, Need::kOptional),
      integer_field("hello_seconds", &L::hello_seconds, 1, kMostSeconds),
      integer_field("load_seconds", &L::load_seconds, 1, kMostSeconds),
      integer_field("progress_seconds", &L::progress_seconds, 1, kMostSeconds),
      integer_field("run_seconds", &L::run_seconds, 1, kMostSeconds),
      integer_field("stop_seconds", &L::stop_seconds, 1, kMostSeconds),
      integer_field("log_cap_bytes", &L::log_cap_bytes, 4096, kMostBytes),
      texts_field("environment_allow", &L::environment_allow),
  };
  return fields;
}

const Fields<BuildSettings>& build_fields() {
  using B = BuildSettings;
  static const Fields<B> fields = {
      text_field("target", &B::target),
      text_field("binary", &B::binary),
      choice_field("build_type", &B::build_type, {"Release", "RelWithDebInfo"}),
      texts_field("cmake_options", &B::cmake_options),
      texts_field("environment_allow", &B::environment_allow),
  };
  return fields;
}

struct PathLists {
  std::vector<std::string> fixed, may_change;
};

void read_patterns(std::vector<std::string>& list, const JsonNode& node) {
  for (const JsonNode& item : node.items()) {
    const std::string pattern = item.as_string();
    if (const std::string fault = pattern_fault(pattern); !fault.empty()) {
      item.fail("the path \"" + pattern + "\" in \"" + node.path() + "\" " + fault);
    }
    if (std::find(list.begin(), list.end(), pattern) != list.end()) {
      item.fail("the path \"" + pattern + "\" is given twice in \"" + node.path() + "\"");
    }
    list.push_back(pattern);
  }
  if (list.empty()) node.fail("\"" + node.path() + "\" must name at least one path");
}

void check_overlap(const PathLists& lists, const JsonNode& root) {
  for (const JsonNode& item : root.at("mutable_paths").items()) {
    for (const std::string& fixed : lists.fixed) {
      if (patterns_overlap(fixed, item.as_string())) {
        item.fail("\"" + item.as_string() + "\" in \"mutable_paths\" overlaps \"" + fixed +
                  "\" in \"fixed_paths\"; a path is one or the other");
      }
    }
  }
}

void read_lanes(Settings& settings, const JsonNode& node) {
  for (const std::string& name : node.keys()) {
    settings.lanes.emplace(name, read_lane(name, node.at(name)));
  }
  if (settings.lanes.empty()) node.fail("\"lanes\" must have at least one lane");
}

std::vector<std::string> lane_names(const Settings& settings) {
  std::vector<std::string> names;
  for (const auto& [name, lane] : settings.lanes) names.push_back(name);
  return names;
}

void check_rules(const Settings& settings, const JsonNode& root) {
  for (const JsonNode& item : root.at("default_lanes").items()) {
    const std::string name = item.at("lane").as_string();
    if (settings.lanes.count(name) != 0) continue;
    const std::string near = nearest_word(name, lane_names(settings));
    item.at("lane").fail("there is no lane \"" + name + "\"" +
                         (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
}

struct Root {
  Settings settings;
  PathLists paths;
};

const Fields<Root>& root_fields() {
  const Need req = Need::kRequired;
  static const Fields<Root> fields = {
      {"$schema", Need::kOptional, [](Root&, const JsonNode& node) { node.as_string(); }},
      {"version", req, [](Root&, const JsonNode& node) { node.as_integer(1, 1); }},
      {"engine_knobs", req,
       [](Root& root, const JsonNode& node) { root.settings.engine_knobs = node.as_string(); }},
      {"handbook", req,
       [](Root& root, const JsonNode& node) { root.settings.handbook = node.as_string(); }},
      {"fixed_paths", req,
       [](Root& root, const JsonNode& node) { read_patterns(root.paths.fixed, node); }},
      {"mutable_paths", req,
       [](Root& root, const JsonNode& node) { read_patterns(root.paths.may_change, node); }},
      {"default_lanes", req,
       [](Root& root, const JsonNode& node) {
         root.settings.default_lanes = read_list(rule_fields(), node);
       }},
      {"budgets", req,
       [](Root& root, const JsonNode& node) {
         read_fields(budget_fields(), root.settings.budgets, node);
       }},
      {"launch", req,
       [](Root& root, const JsonNode& node) {
         read_fields(launch_fields(), root.settings.launch, node);
       }},
      {"build", req,
       [](Root& root, const JsonNode& node) {
         read_fields(build_fields(), root.settings.build, node);
       }},
      {"lanes", req, [](Root& root, const JsonNode& node) { read_lanes(root.settings, node); }},
  };
  return fields;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in && !std::filesystem::is_directory(file)) text << in.rdbuf();
  if (!in || text.str().empty()) {
    throw IoError("cannot read the settings " + file.string() +
                  "; check the path given with --config");
  }
  return text.str();
}

}  // namespace

Settings parse_settings(std::string_view text, const std::string& name) {
  const JsonDocument document = JsonDocument::parse(text, name);
  const JsonNode node = document.root();
  Root root;
  read_fields(root_fields(), root, node);
  check_overlap(root.paths, node);
  check_rules(root.settings, node);
  root.settings.paths = PathRules(std::move(root.paths.fixed), std::move(root.paths.may_change));
  root.settings.file = name;
  root.settings.sha256 = sha256_hex(text);
  return std::move(root.settings);
}

Settings read_settings(const std::filesystem::path& file) {
  return parse_settings(read_text(file), file.string());
}

void check_paths_match(const Settings& settings, const std::vector<std::string>& tracked_paths) {
  const std::vector<std::string> missing = settings.paths.unmatched(tracked_paths);
  if (missing.empty()) return;
  const JsonDocument document = JsonDocument::read(settings.file);
  for (const char* key : {"fixed_paths", "mutable_paths"}) {
    for (const JsonNode& item : document.root().at(key).items()) {
      if (item.as_string() != missing.front()) continue;
      const std::string near = nearest_word(missing.front(), tracked_paths);
      item.fail("\"" + missing.front() + "\" in \"" + key + "\" matches no tracked file" +
                (near.empty() ? "; mend or remove it" : "; did you mean \"" + near + "\"?"));
    }
  }
  throw ConfigError(settings.file.string() + ": \"" + missing.front() +
                    "\" matches no tracked file; mend or remove it");
}

const LaneConfig& Settings::lane(std::string_view name) const {
  if (const auto found = lanes.find(std::string(name)); found != lanes.end()) return found->second;
  const std::string near = nearest_word(name, lane_names(*this));
  std::string message = "there is no lane \"" + std::string(name) + "\" in " + file.string();
  if (!near.empty()) message += "; did you mean \"" + near + "\"?";
  throw InvalidArgument(message);
}

const LaneConfig& Settings::default_lane(std::string_view gpu_name, int gpu_count) const {
  for (const LaneRule& rule : default_lanes) {
    const bool none = gpu_name.empty() || gpu_count == 0;
    const bool fits = rule.gpu == "none" ? none
                      : none             ? false
                                         : rule.gpu == "*" || rule.gpu == gpu_name;
    if (fits && gpu_count >= rule.min_gpus) return lane(rule.lane);
  }
  throw Unavailable("no rule of \"default_lanes\" in " + file.string() +
                    " fits this machine; name a lane with --lane");
}

bool Settings::on_target(const LaneConfig& lane, std::string_view gpu_name) noexcept {
  return lane.hardware == "cpu" || lane.hardware == gpu_name;
}

std::vector<std::string> known_settings_keys() {
  std::vector<std::string> keys;
  add_keys(root_fields(), "", keys);
  add_keys(rule_fields(), "default_lanes[].", keys);
  add_keys(budget_fields(), "budgets.", keys);
  add_keys(launch_fields(), "launch.", keys);
  add_keys(build_fields(), "build.", keys);
  keys.push_back("lanes.*");
  add_lane_keys(keys);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace ditar
