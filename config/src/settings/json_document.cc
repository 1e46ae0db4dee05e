#include "ditar/config/json_document.h"

#include "ditar/config/error.h"
#include "settings/json_value.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

namespace ditar {
namespace {

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

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

JsonDocument::JsonDocument() = default;
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

JsonDocument JsonDocument::read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || std::filesystem::is_directory(file)) {
    throw IoError("cannot read " + file.string() + "; check the path given with --config");
  }
  return parse(text.str(), file.string());
}

JsonDocument JsonDocument::parse(std::string_view text, std::string name) {
  JsonDocument made;
  made.file_ = std::make_unique<std::string>(std::move(name));
  made.root_ = std::make_unique<JsonValue>(parse_json_value(text, *made.file_));
  return made;
}

JsonNode JsonDocument::root() const { return {root_.get(), file_.get(), ""}; }

std::string JsonNode::place() const {
  return *file_ + ":" + std::to_string(value_->place.line) + ":" +
         std::to_string(value_->place.column);
}

void JsonNode::fail(const std::string& message) const {
  throw ConfigError(place() + ": " + message);
}

bool JsonNode::is_object() const noexcept { return value_->kind == JsonValue::Kind::kObject; }
bool JsonNode::is_array() const noexcept { return value_->kind == JsonValue::Kind::kArray; }

bool JsonNode::as_bool() const {
  if (value_->kind != JsonValue::Kind::kBool) fail("\"" + path_ + "\" must be true or false");
  return value_->boolean;
}

std::int64_t JsonNode::as_integer(std::int64_t least, std::int64_t most) const {
  if (value_->kind != JsonValue::Kind::kInteger || value_->integer < least ||
      value_->integer > most) {
    fail("\"" + path_ + "\" must be a whole number from " + std::to_string(least) + " to " +
         std::to_string(most));
  }
  return value_->integer;
}

double JsonNode::as_number(double least, double most) const {
  const bool number =
      value_->kind == JsonValue::Kind::kInteger || value_->kind == JsonValue::Kind::kNumber;
  if (!number || value_->number < least || value_->number > most) {
    fail("\"" + path_ + "\" must be a number from " + number_text(least) + " to " +
         number_text(most));
  }
  return value_->number;
}

std::string JsonNode::as_string() const {
  if (value_->kind != JsonValue::Kind::kString) fail("\"" + path_ + "\" must be a string");
  return value_->text;
}

std::string JsonNode::as_choice(const std::vector<std::string>& choices) const {
  const std::string text = as_string();
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  std::string list;
  for (const std::string& choice : choices) {
    list += (list.empty() ? "\"" : ", \"") + choice + "\"";
  }
  fail("\"" + path_ + "\" is \"" + text + "\"; it must be one of " + list);
}

std::vector<JsonNode> JsonNode::items() const {
  if (!is_array()) fail("\"" + path_ + "\" must be a list");
  std::vector<JsonNode> nodes;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    nodes.emplace_back(&value_->items[i], file_, path_ + "[" + std::to_string(i) + "]");
  }
  return nodes;
}

std::vector<std::string> JsonNode::keys() const {
  if (!is_object()) {
    fail((path_.empty() ? "the file" : "\"" + path_ + "\"") + " must hold an object { ... }");
  }
  std::vector<std::string> names;
  for (const auto& member : value_->members) names.push_back(member.first);
  return names;
}

bool JsonNode::has(std::string_view key) const {
  const std::vector<std::string> names = keys();
  return std::find(names.begin(), names.end(), key) != names.end();
}

JsonNode JsonNode::at(std::string_view key) const {
  keys();
  for (const auto& [name, value] : value_->members) {
    if (name == key) return {&value, file_, path_.empty() ? name : path_ + "." + name};
  }
  fail((path_.empty() ? "the file" : "\"" + path_ + "\"") + " lacks the key \"" + std::string(key) +
       "\"; add it");
}

void JsonNode::only(const std::vector<std::string>& known) const {
  for (const std::string& name : keys()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest_word(name, known);
    at(name).fail("unknown key \"" + name + "\"" +
                  (path_.empty() ? std::string() : " in \"" + path_ + "\"") +
                  (near.empty() ? "; remove it" : "; did you mean \"" + near + "\"?"));
  }
}

}  // namespace ditar
