#include "ditar/config/config_tree.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

namespace ditar {

using Json = nlohmann::ordered_json;

// Turns a parsed document into a ConfigTree.
class ConfigTreeBuilder {
 public:
  static ConfigTree build(const Json& json, const std::string& file, const std::string& key) {
    ConfigTree tree;
    tree.place_ = key.empty() ? file : file + ": key \"" + key + "\"";
    const std::string prefix = key.empty() ? "" : key + ".";
    if (json.is_boolean()) {
      tree.kind_ = ConfigTree::Kind::kBool;
      tree.bool_ = json.get<bool>();
    } else if (json.is_number_integer()) {
      tree.kind_ = ConfigTree::Kind::kInteger;
      constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (json.is_number_unsigned() && json.get<std::uint64_t>() > kLimit) {
        throw ConfigError(tree.place_ + " is larger than a 64-bit integer; give a smaller number");
      }
      tree.integer_ = json.get<std::int64_t>();
      tree.real_ = static_cast<double>(tree.integer_);
    } else if (json.is_number_float()) {
      tree.kind_ = ConfigTree::Kind::kReal;
      tree.real_ = json.get<double>();
    } else if (json.is_string()) {
      tree.kind_ = ConfigTree::Kind::kText;
      tree.text_ = json.get<std::string>();
    } else if (json.is_array()) {
      tree.kind_ = ConfigTree::Kind::kList;
      for (const Json& item : json) {
        tree.items_.push_back(build(item, file, prefix + std::to_string(tree.items_.size())));
      }
    } else if (json.is_object()) {
      tree.kind_ = ConfigTree::Kind::kObject;
      for (const auto& [name, value] : json.items()) {
        tree.members_.emplace_back(name, build(value, file, prefix + name));
      }
    }
    return tree;
  }
};

namespace {

// Line of the text at which key watching stopped is not known to the callback, so the second
// occurrence of the quoted key is looked up.
std::size_t line_of_repeat(std::string_view text, const std::string& key) {
  const std::string quoted = '"' + key + '"';
  std::size_t at = text.find(quoted);
  if (at != std::string_view::npos) {
    const std::size_t again = text.find(quoted, at + 1);
    if (again != std::string_view::npos) at = again;
  }
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size()));
  return static_cast<std::size_t>(std::count(text.begin(), end, '\n')) + 1;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

ConfigTree ConfigTree::parse(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw ConfigError(name + " line " + std::to_string(line_of_repeat(text, key)) +
                          ": the key \"" + key + "\" is given twice; keep one of them");
      }
    }
    return true;
  };
  try {
    const Json json = Json::parse(text, watch);
    if (!json.is_object()) throw ConfigError(name + ": the file must hold one JSON object");
    return ConfigTreeBuilder::build(json, name, "");
  } catch (const Json::exception& error) {
    throw ConfigError(name + ": not valid JSON: " + error.what());
  }
}

ConfigTree ConfigTree::read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw IoError(path.string() + ": cannot be read; give the path of a JSON file");
  return parse(text.str(), path.string());
}

const ConfigTree* ConfigTree::find(std::string_view key) const noexcept {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

bool ConfigTree::as_bool() const {
  if (kind_ != Kind::kBool) throw ConfigError(place_ + " must be true or false");
  return bool_;
}

std::int64_t ConfigTree::as_integer() const {
  if (kind_ != Kind::kInteger) throw ConfigError(place_ + " must be a whole number");
  return integer_;
}

double ConfigTree::as_real() const {
  if (kind_ != Kind::kInteger && kind_ != Kind::kReal) {
    throw ConfigError(place_ + " must be a number");
  }
  return real_;
}

const std::string& ConfigTree::as_text() const {
  if (kind_ != Kind::kText) throw ConfigError(place_ + " must be text in quotes");
  return text_;
}

void ConfigTree::require_known(const std::vector<std::string>& known) const {
  for (const Member& member : members_) {
    const std::string& key = member.first;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest =
        std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
          return edit_distance(key, a) < edit_distance(key, b);
        });
    throw ConfigError(
        member.second.place() + " is not known" +
        (nearest == known.end() ? "" : "; the nearest valid key is \"" + *nearest + "\""));
  }
}

}  // namespace ditar
