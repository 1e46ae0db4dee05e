// Where a command's words go: results to stdout, progress and notes to stderr. In JSON mode stdout
// carries exactly one document and nothing else. One thread at a time.
#pragma once

#include "ditar/coordinator/progress.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ditar {

class Console final : public Progress {
 public:
  Console(bool json, bool verbose);
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool json() const noexcept { return json_; }
  bool verbose() const noexcept { return verbose_; }

  /// One line of result on stdout; dropped in JSON mode.
  void line(std::string_view text);
  /// The one document of JSON mode; ignored otherwise, and a second call too.
  void document(const nlohmann::json& document);

  void stage(std::string_view name) override;
  void update(std::int64_t done, std::int64_t total) override;
  void note(std::string_view text) override;

 private:
  void clear_bar();

  bool json_, verbose_, terminal_;
  bool bar_shown_ = false, document_written_ = false;
  std::string stage_;
  std::int64_t last_quarter_ = -1;
};

}  // namespace ditar
