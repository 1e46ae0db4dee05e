// dit-ar: parses the command line, runs one command, turns faults into one line and an exit code.
#include "cli/console.h"
#include "cli/parse.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/coordinator/interrupt.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

int report(ditar::Console& console, const std::string& command, const std::string& message,
           ditar::ExitCode code) {
  if (console.json()) {
    console.document(
        {{"error",
          {{"command", command}, {"message", message}, {"exit_code", ditar::to_int(code)}}}});
  } else {
    console.note("dit-ar: " + message);
  }
  return ditar::to_int(code);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto has = [&](const char* word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  ditar::Console console(has("--json"), has("--verbose"));
  std::string command;
  try {
    ditar::init_logging("dit-ar", -1,
                        console.verbose() ? ditar::LogLevel::kInfo : ditar::LogLevel::kWarning);
    ditar::install_interrupt_handlers();
    const ditar::Invocation invocation = ditar::parse_command_line(arguments);
    command = invocation.command;
    if (!invocation.text.empty()) {
      std::fputs(invocation.text.c_str(), stdout);
      return 0;
    }
    return invocation.run(console);
  } catch (const ditar::Error& error) {
    return report(console, command, error.message(), error.exit_code());
  } catch (const std::exception& error) {
    return report(console, command, error.what(), ditar::ExitCode::kFailure);
  }
}
