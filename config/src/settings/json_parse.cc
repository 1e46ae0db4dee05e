// Strict JSON to JsonValue through nlohmann's SAX interface. The reader's position is known because
// the bytes are handed out by an iterator that counts them.
#include "ditar/config/error.h"
#include "settings/json_value.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>

namespace ditar {
namespace {

using Json = nlohmann::json;

// An input iterator over text that tells how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(std::string_view text, const std::string& name, const std::size_t* read)
      : text_(text), name_(name), read_(read) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return add({}, 4); }
  bool boolean(bool value) override {
    JsonValue made;
    made.kind = JsonValue::Kind::kBool;
    made.boolean = value;
    return add(std::move(made), value ? 4 : 5);
  }
  bool number_integer(number_integer_t value) override {
    JsonValue made;
    made.kind = JsonValue::Kind::kInteger;
    made.integer = value;
    made.number = static_cast<double>(value);
    return add(std::move(made), 1);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(offset_back(1), "this number does not fit 64 bits; write a smaller one");
    }
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (!std::isfinite(value))
      fail(offset_back(1), "this number is too large; write a smaller one");
    JsonValue made;
    made.kind = JsonValue::Kind::kNumber;
    made.number = value;
    return add(std::move(made), 1);
  }
  bool string(string_t& value) override {
    JsonValue made;
    made.kind = JsonValue::Kind::kString;
    made.text = value;
    return add(std::move(made), std::min(value.size() + 2, *read_));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    const std::size_t at = key_offset(value);
    JsonValue& object = *open_.back();
    for (const auto& member : object.members) {
      if (member.first == value) {
        fail(at, "the key \"" + value + "\" is given twice (first on line " +
                     std::to_string(member.second.place.line) + "); keep one of them");
      }
    }
    key_ = value;
    key_place_ = place_of(at);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& e) override {
    std::string why = e.what();
    if (const auto colon = why.find(": ", why.find("column")); colon != std::string::npos) {
      why.erase(0, colon + 2);
    }
    fail(std::min(position == 0 ? 0 : position - 1, text_.size()), "not valid JSON: " + why);
  }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    const JsonPlace at = place_of(offset);
    throw ConfigError(name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                      ": " + message);
  }

  JsonPlace place_of(std::size_t offset) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    const auto newline = before.rfind('\n');
    return {
        1 + std::count(before.begin(), before.end(), '\n'),
        static_cast<std::int64_t>(
            1 + (newline == std::string_view::npos ? before.size() : before.size() - newline - 1))};
  }

  // Offset of the opening quote of the key just read: the parser stops at its colon.
  std::size_t key_offset(const std::string& value) const {
    const std::string quoted = '"' + value + '"';
    const std::size_t found = text_.rfind(quoted, *read_ - std::min(*read_, quoted.size()));
    return found == std::string_view::npos ? offset_back(1) : found;
  }

  // Offset of the last byte of the value just read, less `length` - 1; never on white space.
  std::size_t offset_back(std::size_t length) const {
    std::size_t at = std::min(*read_, text_.size());
    while (at > 0 && (std::isspace(static_cast<unsigned char>(text_[at - 1])) != 0 ||
                      text_[at - 1] == ',' || text_[at - 1] == ']' || text_[at - 1] == '}')) {
      if (length != 1) break;
      --at;
    }
    return at - std::min(at, length);
  }

  bool add(JsonValue made, std::size_t length) {
    place(std::move(made), offset_back(length));
    return true;
  }

  JsonValue* place(JsonValue made, std::size_t offset) {
    if (open_.empty()) {
      made.place = place_of(offset);
      root_ = std::move(made);
      return &root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::kArray) {
      made.place = place_of(offset);
      parent.items.push_back(std::move(made));
      return &parent.items.back();
    }
    made.place = key_place_;
    parent.members.emplace_back(key_, std::move(made));
    return &parent.members.back().second;
  }

  bool open(JsonValue::Kind kind) {
    if (open_.size() >= 64) fail(offset_back(1), "nested deeper than 64 levels; flatten it");
    JsonValue made;
    made.kind = kind;
    // Parents do not grow while a child is open, so the pointer stays good until close().
    open_.push_back(place(std::move(made), *read_ - 1));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  const std::size_t* read_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
  JsonPlace key_place_;
};

}  // namespace

JsonValue parse_json_value(std::string_view text, const std::string& name) {
  std::size_t read = 0;
  Handler handler(text, name, &read);
  const CountingIterator first(text.data(), &read);
  const CountingIterator last(text.data() + text.size(), &read);
  if (!Json::sax_parse(first, last, &handler)) throw ConfigError(name + ":1:1: not valid JSON");
  return handler.take();
}

}  // namespace ditar
