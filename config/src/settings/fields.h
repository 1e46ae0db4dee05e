// Tables of the keys an object of a settings file may have. One table serves the reader, the list
// of known keys and so the test that holds the schema to it. Internal to config/src/settings.
#pragma once

#include "ditar/config/json_document.h"

#include <functional>
#include <string>
#include <vector>

namespace ditar {

enum class Need { kRequired, kOptional };

template <typename T>
struct Field {
  std::string key;
  Need need;
  std::function<void(T&, const JsonNode&)> read;
};

template <typename T>
using Fields = std::vector<Field<T>>;

/// Fills `object` from `node`; unknown and missing keys throw ConfigError.
template <typename T>
void read_fields(const Fields<T>& fields, T& object, const JsonNode& node) {
  std::vector<std::string> known;
  for (const Field<T>& field : fields) known.push_back(field.key);
  node.only(known);
  for (const Field<T>& field : fields) {
    if (field.need == Need::kRequired || node.has(field.key))
      field.read(object, node.at(field.key));
  }
}

/// A list of objects with one table.
template <typename T>
std::vector<T> read_list(const Fields<T>& fields, const JsonNode& node) {
  std::vector<T> list;
  for (const JsonNode& item : node.items()) {
    T made;
    read_fields(fields, made, item);
    list.push_back(std::move(made));
  }
  return list;
}

template <typename T>
void add_keys(const Fields<T>& fields, const std::string& prefix, std::vector<std::string>& keys) {
  for (const Field<T>& field : fields) keys.push_back(prefix + field.key);
}

// Readers of one member. The numbers are the least and the most that are accepted.
template <typename T>
Field<T> text_field(std::string key, std::string T::*member, Need need = Need::kRequired) {
  return {std::move(key), need,
          [member](T& object, const JsonNode& node) { object.*member = node.as_string(); }};
}

template <typename T>
Field<T> choice_field(std::string key, std::string T::*member, std::vector<std::string> choices,
                      Need need = Need::kRequired) {
  return {std::move(key), need,
          [member, choices = std::move(choices)](T& object, const JsonNode& node) {
            object.*member = node.as_choice(choices);
          }};
}

template <typename T, typename Integer>
Field<T> integer_field(std::string key, Integer T::*member, std::int64_t least, std::int64_t most,
                       Need need = Need::kRequired) {
  return {std::move(key), need, [member, least, most](T& object, const JsonNode& node) {
            object.*member = static_cast<Integer>(node.as_integer(least, most));
          }};
}

template <typename T>
Field<T> number_field(std::string key, double T::*member, double least, double most,
                      Need need = Need::kRequired) {
  return {std::move(key), need, [member, least, most](T& object, const JsonNode& node) {
            object.*member = node.as_number(least, most);
          }};
}

template <typename T>
Field<T> texts_field(std::string key, std::vector<std::string> T::*member,
                     Need need = Need::kRequired) {
  return {std::move(key), need, [member](T& object, const JsonNode& node) {
            for (const JsonNode& item : node.items()) (object.*member).push_back(item.as_string());
          }};
}

}  // namespace ditar
