#include "cli/console.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdio>

namespace ditar {

Console::Console(bool json, bool verbose)
    : json_(json), verbose_(verbose), terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() { clear_bar(); }

void Console::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  bar_shown_ = false;
}

void Console::line(std::string_view text) {
  if (json_) return;
  clear_bar();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void Console::document(const nlohmann::json& document) {
  if (!json_ || document_written_) return;
  document_written_ = true;
  clear_bar();
  const std::string text =
      document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Console::stage(std::string_view name) {
  clear_bar();
  stage_ = name;
  last_quarter_ = -1;
  std::fprintf(stderr, "%s ...%s", stage_.c_str(), terminal_ ? "" : "\n");
  std::fflush(stderr);
  if (terminal_) {
    std::fputc('\r', stderr);
    bar_shown_ = true;
  }
}

void Console::update(std::int64_t done, std::int64_t total) {
  if (total <= 0) return;
  if (terminal_) {
    constexpr std::int64_t kWidth = 30;
    const auto filled = static_cast<std::size_t>(kWidth * done / total);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::fprintf(stderr, "\r\x1b[K%s [%s] %lld/%lld", stage_.c_str(), bar.c_str(),
                 static_cast<long long>(done), static_cast<long long>(total));
    std::fflush(stderr);
    bar_shown_ = true;
    return;
  }
  const std::int64_t quarter = 4 * done / total;
  if (quarter == last_quarter_ || done == 0) return;
  last_quarter_ = quarter;
  std::fprintf(stderr, "%s %lld/%lld\n", stage_.c_str(), static_cast<long long>(done),
               static_cast<long long>(total));
}

void Console::note(std::string_view text) {
  clear_bar();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace ditar
