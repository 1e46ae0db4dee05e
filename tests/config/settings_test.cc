#include "ditar/config/settings.h"

#include "ditar/config/error.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace ditar {
namespace {

using Json = nlohmann::ordered_json;

std::string read_file(const std::string& name) {
  std::ifstream in(std::string(DITAR_SOURCE_DIR) + "/config/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string shipped() { return read_file("autoresearch.json"); }

// The message of the ConfigError that `text` gives; empty if it is accepted.
std::string fault_of(const std::string& text) {
  try {
    parse_settings(text, "s.json");
  } catch (const ConfigError& error) {
    return error.message();
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::size_t line_of(const std::string& text, const std::string& part) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(part));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

void schema_keys(const Json& node, const std::string& path, std::set<std::string>& keys) {
  if (node.contains("properties")) {
    for (const auto& [key, value] : node["properties"].items()) {
      const std::string name = path.empty() ? key : path + "." + key;
      keys.insert(name);
      schema_keys(value, name, keys);
    }
  }
  if (node.contains("additionalProperties") && node["additionalProperties"].is_object()) {
    keys.insert(path + ".*");
    schema_keys(node["additionalProperties"], path + ".*", keys);
  }
  if (node.contains("items") && node["items"].contains("properties")) {
    schema_keys(node["items"], path + "[]", keys);
  }
}

// Calls visit(schema of the object, path of the object) for every object of `value`.
template <typename Visit>
void walk(const Json& schema, const Json& value, const Json::json_pointer& at, Visit visit) {
  if (value.is_object()) {
    visit(schema, at);
    for (const auto& [key, member] : value.items()) {
      const bool listed = schema.contains("properties") && schema["properties"].contains(key);
      const Json& next = listed ? schema["properties"][key] : schema["additionalProperties"];
      if (next.is_object()) walk(next, member, at / key, visit);
    }
  } else if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) walk(schema["items"], value[i], at / i, visit);
  }
}

TEST(SettingsTest, ShippedFileIsGood) {
  const Settings settings = parse_settings(shipped(), "config/autoresearch.json");
  const LaneConfig& lane = settings.lane("cpu-mnist");
  EXPECT_EQ(lane.images, 1);
  EXPECT_EQ(lane.steps, 10);
  EXPECT_EQ(lane.sampler, "ddim");
  EXPECT_DOUBLE_EQ(lane.guidance, 1.5);
  EXPECT_EQ(lane.ranks, 1);
  EXPECT_EQ(lane.threads, 1);
  EXPECT_EQ(lane.decision.quads_per_block, 16);
  const std::vector<std::string> may_change = {"kernels/",           "parallel/",
                                               "worker/dit/",        "topology/planner*",
                                               "config/engine.json", "tests/candidate/"};
  EXPECT_EQ(settings.paths.mutable_paths(), may_change);
  for (const auto& [name, each] : settings.lanes) {
    if (each.required_scores.empty()) {
      const std::vector<std::string> strict = {"exact", "numerical"};
      EXPECT_EQ(each.allowed_classes, strict) << name;
    }
  }
}

TEST(SettingsTest, SchemaAndReaderKnowTheSameKeys) {
  std::set<std::string> of_schema;
  schema_keys(Json::parse(read_file("autoresearch.schema.json")), "", of_schema);
  const std::vector<std::string> known = known_settings_keys();
  EXPECT_EQ(of_schema, std::set<std::string>(known.begin(), known.end()));
}

TEST(SettingsTest, ReaderAsksForEveryKeyThatTheSchemaRequires) {
  const Json schema = Json::parse(read_file("autoresearch.schema.json"));
  const Json whole = Json::parse(shipped());
  int tried = 0;
  walk(schema, whole, Json::json_pointer(), [&](const Json& part, const Json::json_pointer& at) {
    if (!part.contains("required")) return;
    for (const auto& key : part["required"]) {
      if (at.to_string().rfind("/lanes/xl2", 0) == 0) return;  // one lane stands for all
      Json cut = whole;
      cut[at].erase(key.get<std::string>());
      EXPECT_NE(fault_of(cut.dump(1)), "") << at.to_string() << "/" << key;
      ++tried;
    }
  });
  EXPECT_GT(tried, 60);
}

TEST(SettingsTest, ReaderAcceptsTheEndsOfEveryRangeAndRefusesBeyond) {
  const Json schema = Json::parse(read_file("autoresearch.schema.json"));
  const Json whole = Json::parse(shipped());
  int tried = 0;
  walk(schema, whole, Json::json_pointer(), [&](const Json& part, const Json::json_pointer& at) {
    if (!part.contains("properties") || at.to_string().find("/lanes/xl2") == 0) return;
    for (const auto& [key, rule] : part["properties"].items()) {
      if (!rule.contains("maximum") || !whole[at].contains(key)) continue;
      Json changed = whole;
      changed[at][key] = rule["type"] == "integer" ? Json(rule["maximum"].get<std::int64_t>() + 1)
                                                   : Json(rule["maximum"].get<double>() * 1.01);
      EXPECT_NE(fault_of(changed.dump(1)).find("\" must be a "), std::string::npos) << key;
      changed[at][key] = rule["maximum"];
      EXPECT_EQ(fault_of(changed.dump(1)).find("\" must be a "), std::string::npos) << key;
      changed[at][key] = rule["minimum"].get<double>() - 1.0;
      EXPECT_NE(fault_of(changed.dump(1)), "") << key;
      ++tried;
    }
  });
  EXPECT_GT(tried, 40);
}

TEST(SettingsTest, UnknownKeyNamesPlaceAndNearest) {
  const std::string text = replaced(shipped(), "\"guidance\"", "\"guidence\"");
  const std::string fault = fault_of(text);
  EXPECT_EQ(fault.find("s.json:" + std::to_string(line_of(text, "\"guidence\"")) + ":"), 0u)
      << fault;
  EXPECT_NE(fault.find("did you mean \"guidance\"?"), std::string::npos) << fault;
}

TEST(SettingsTest, DuplicateKeyNamesBothLines) {
  const std::string text =
      replaced(shipped(), "\"version\": 1,", "\"version\": 1,\n\"version\": 1,");
  const std::string fault = fault_of(text);
  EXPECT_EQ(fault.find("s.json:4:1: "), 0u) << fault;
  EXPECT_NE(fault.find("given twice (first on line 3)"), std::string::npos) << fault;
}

TEST(SettingsTest, WrongTypeNamesKeyAndPlace) {
  const std::string text = replaced(shipped(), "\"steps\": 10", "\"steps\": \"ten\"");
  const std::string fault = fault_of(text);
  EXPECT_NE(fault.find("\"lanes.cpu-mnist.steps\" must be a whole number"), std::string::npos);
  EXPECT_EQ(fault.find("s.json:" + std::to_string(line_of(text, "\"ten\"")) + ":"), 0u) << fault;
}

TEST(SettingsTest, OverlapOfFixedAndMutableIsRefused) {
  EXPECT_NE(fault_of(replaced(shipped(), "\"kernels/\",", "\"kernels/\", \"coordinator/src/\","))
                .find("overlaps \"coordinator/\""),
            std::string::npos);
  EXPECT_NE(fault_of(replaced(shipped(), "\"topology/planner*\"", "\"topology/*\""))
                .find("overlaps \"topology/"),
            std::string::npos);
}

TEST(SettingsTest, BadJsonIsNamedByPlace) {
  EXPECT_EQ(fault_of("{\n  \"version\": 1,,\n}").find("s.json:2:"), 0u);
  EXPECT_EQ(fault_of("").find("s.json:1:"), 0u);
  EXPECT_NE(fault_of("\xEF\xBB\xBF{}x"), "");
  EXPECT_NE(fault_of("{\"version\": 1e999}"), "");
  EXPECT_NE(fault_of(std::string(100, '[')), "");
}

TEST(SettingsTest, QuantizationNeedsRequiredScores) {
  const std::string text =
      replaced(shipped(), "[\"exact\", \"numerical\"]", "[\"exact\", \"quantization\"]");
  EXPECT_NE(fault_of(text).find("without required scores"), std::string::npos);
}

TEST(SettingsTest, MissingFileIsAnIoError) {
  EXPECT_THROW(read_settings("/nonexistent/autoresearch.json"), IoError);
  EXPECT_THROW(read_settings("/"), IoError);
}

TEST(SettingsTest, PatternThatMatchesNothingIsNamed) {
  const std::string file = testing::TempDir() + "/settings_patterns.json";
  std::ofstream(file) << shipped();
  try {
    check_paths_match(read_settings(file), {"CMakeLists.txt", "kernels/a.cc"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message().find(file + ":"), 0u);
    EXPECT_NE(error.message().find("\"CMakePresets.json\" in \"fixed_paths\" matches no"),
              std::string::npos)
        << error.message();
  }
}

TEST(SettingsTest, DefaultLaneFollowsTheHardware) {
  const Settings settings = parse_settings(shipped(), "s.json");
  EXPECT_EQ(settings.default_lane("", 0).name, "cpu-mnist");
  const LaneConfig& on = settings.default_lane("NVIDIA RTX A5500", 2);
  EXPECT_TRUE(Settings::on_target(on, "NVIDIA RTX A5500"));
  const LaneConfig& off = settings.default_lane("NVIDIA RTX A5500 Laptop GPU", 1);
  EXPECT_EQ(off.name, on.name);
  EXPECT_FALSE(Settings::on_target(off, "NVIDIA RTX A5500 Laptop GPU"));
}

TEST(SettingsTest, UnknownLaneNamesTheNearest) {
  try {
    parse_settings(shipped(), "s.json").lane("cpu-mnits");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(error.message().find("\"cpu-mnist\"?"), std::string::npos);
  }
}

}  // namespace
}  // namespace ditar
