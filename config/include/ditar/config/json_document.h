// A JSON file with the place of every value, read strictly (no duplicate key, no comment, no
// trailing text) and walked with typed questions. Immutable once parsed; no JSON library shows
// here. A JsonNode points into its document, which must outlive it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

struct JsonValue;  // defined in the source

/// One value with its path ("lanes.cpu-mnist.steps") and place. Cheap to copy.
class JsonNode {
 public:
  JsonNode(const JsonValue* value, const std::string* file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  /// "file:line:column"; of a member's key, else of the value.
  std::string place() const;
  /// Throws ConfigError "place: message". Never returns.
  [[noreturn]] void fail(const std::string& message) const;

  bool is_object() const noexcept;
  bool is_array() const noexcept;

  /// Typed value. @throws ConfigError naming place, key and what was expected.
  bool as_bool() const;
  std::int64_t as_integer(std::int64_t least, std::int64_t most) const;
  double as_number(double least, double most) const;
  std::string as_string() const;
  std::string as_choice(const std::vector<std::string>& choices) const;
  std::vector<JsonNode> items() const;

  /// Member names in file order. @throws ConfigError if this is no object.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  /// @throws ConfigError naming this object's place if the key is missing.
  JsonNode at(std::string_view key) const;
  /// @throws ConfigError at the first member that is not in `known`, with the nearest of them.
  void only(const std::vector<std::string>& known) const;

 private:
  const JsonValue* value_;
  const std::string* file_;
  std::string path_;
};

class JsonDocument {
 public:
  /// @throws IoError if unreadable; ConfigError with file:line:column for bad JSON or a key given
  /// twice.
  static JsonDocument read(const std::filesystem::path& file);
  static JsonDocument parse(std::string_view text, std::string name);
  ~JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonNode root() const;

 private:
  JsonDocument();
  std::unique_ptr<JsonValue> root_;
  std::unique_ptr<std::string> file_;
};

/// Of `candidates` the one with the least edit distance to `word`; empty if none is near (more than
/// half of the word's letters would change).
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ditar
