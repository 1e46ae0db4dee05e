// A small read-only tree of a strict JSON file, for code that must not see a JSON library (the
// engine's knobs, the description files of model folders). Immutable; may be shared by threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ditar {

class ConfigTree {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kReal, kText, kList, kObject };
  using Member = std::pair<std::string, ConfigTree>;

  /// Reads one JSON file whose root is an object. @throws IoError if it cannot be read, ConfigError
  /// naming file and line for bad JSON or a key given twice.
  static ConfigTree read_file(const std::filesystem::path& path);
  /// The same for text; `name` stands in messages.
  static ConfigTree parse(std::string_view text, const std::string& name);

  Kind kind() const noexcept { return kind_; }
  /// "config/engine.json" or "config/engine.json: key \"a.b\"": where this value stands.
  const std::string& place() const noexcept { return place_; }
  const std::vector<Member>& members() const noexcept { return members_; }
  const std::vector<ConfigTree>& items() const noexcept { return items_; }
  /// Null if this is no object, or has no such key.
  const ConfigTree* find(std::string_view key) const noexcept;

  /// The value as one kind. @throws ConfigError naming the place if it is of another kind.
  bool as_bool() const;
  std::int64_t as_integer() const;
  double as_real() const;  ///< integers are accepted
  const std::string& as_text() const;

  /// Refuses any key that is not in `known`, with the nearest valid one. @throws ConfigError.
  void require_known(const std::vector<std::string>& known) const;

 private:
  friend class ConfigTreeBuilder;
  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  std::int64_t integer_ = 0;
  double real_ = 0.0;
  std::string text_;
  std::string place_;
  std::vector<Member> members_;
  std::vector<ConfigTree> items_;
};

}  // namespace ditar
