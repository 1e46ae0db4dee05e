// Shell completion from the same table that the parser uses. Stateless; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace ditar {

/// A command ("" for the program itself) and its long options.
struct CommandWords {
  std::string command;
  std::vector<std::string> options;
};

/// A bash script that completes commands, options and the values of --classification.
std::string bash_completion(const std::vector<CommandWords>& words);

}  // namespace ditar
