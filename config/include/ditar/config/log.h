// Logging for every library of the project. Writes to stderr through spdlog, which this header does
// not include. Thread-safe. Libraries log and throw; they never print or exit.
#pragma once

#include <string>
#include <string_view>

namespace ditar {

enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kOff };

/// Sets the program's name, its rank (-1: none) and the least level shown. Call once from main().
void init_logging(std::string_view program, int rank = -1, LogLevel level = LogLevel::kWarning);

/// Parses "trace", "debug", "info", "warning", "error" or "off". @throws InvalidArgument otherwise.
LogLevel parse_log_level(std::string_view text);

void log(LogLevel level, std::string_view message);
inline void log_debug(std::string_view message) { log(LogLevel::kDebug, message); }
inline void log_info(std::string_view message) { log(LogLevel::kInfo, message); }
inline void log_warning(std::string_view message) { log(LogLevel::kWarning, message); }
inline void log_error(std::string_view message) { log(LogLevel::kError, message); }

}  // namespace ditar
