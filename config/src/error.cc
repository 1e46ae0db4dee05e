#include "ditar/config/error.h"

namespace ditar {
namespace {

std::string with_place(const std::string& message, const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  return message + " [" + std::string(file) + ":" + std::to_string(where.line()) + "]";
}

}  // namespace

Error::Error(std::string message, ExitCode exit_code, std::source_location where)
    : std::runtime_error(with_place(message, where)),
      message_(std::move(message)),
      exit_code_(exit_code) {}

}  // namespace ditar
