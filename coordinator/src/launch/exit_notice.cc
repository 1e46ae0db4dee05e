#include "exit_notice.h"

#include <regex>

namespace ditar {

ExitNotice read_exit_notice(const std::string& log) {
  ExitNotice notice;
  std::smatch match;
  static const std::regex by_signal(
      R"(process rank (\d+) with PID \d+ on node \S+\s+exited\s+on\s+signal\s+(\d+))");
  static const std::regex by_code(R"(Process name: \[[^\n]*,\s*(\d+)\]\s*\n\s*Exit code:\s*(\d+))");
  static const std::regex improper(R"(due to process rank (\d+) with PID \d+)");
  if (std::regex_search(log, match, by_signal)) {
    notice.rank = std::stoi(match[1]);
    notice.signal = std::stoi(match[2]);
  } else if (std::regex_search(log, match, by_code)) {
    notice.rank = std::stoi(match[1]);
    notice.exit_code = std::stoi(match[2]);
  } else if (std::regex_search(log, match, improper)) {
    notice.rank = std::stoi(match[1]);
    notice.exit_code = 0;
  }
  return notice;
}

}  // namespace ditar
