#include "ditar/config/log.h"

#include "ditar/config/error.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace ditar {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

}  // namespace

void init_logging(std::string_view program, int rank, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>(
      std::string(program), std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(to_spdlog(level));
  const std::string who = rank < 0 ? std::string("%n") : "%n[" + std::to_string(rank) + "]";
  logger->set_pattern("%H:%M:%S.%e " + who + " %^%l%$: %v");
  spdlog::set_default_logger(std::move(logger));
}

LogLevel parse_log_level(std::string_view text) {
  if (text == "trace") return LogLevel::kTrace;
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  throw InvalidArgument("unknown log level '" + std::string(text) +
                        "': use trace, debug, info, warning, error or off");
}

void log(LogLevel level, std::string_view message) {
  spdlog::default_logger_raw()->log(to_spdlog(level), "{}", message);
}

}  // namespace ditar
