// The command line as a value. The one file of the program that includes the parser is parse.cc.
// Stateless; call from one thread.
#pragma once

#include "commands/commands.h"

#include <functional>
#include <string>
#include <vector>

namespace ditar {

class Console;

/// What argv asks for. If `text` is not empty it is to be printed and nothing else done
/// (help, version, completion).
struct Invocation {
  GlobalOptions global;
  std::string command;
  std::string text;
  std::function<int(Console&)> run;
};

/// @throws InvalidArgument for anything the command line does not know, with the nearest match.
Invocation parse_command_line(const std::vector<std::string>& arguments);

}  // namespace ditar
