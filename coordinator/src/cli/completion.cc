#include "cli/completion.h"

namespace ditar {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CommandWords>& words) {
  std::vector<std::string> commands;
  std::string cases, global;
  for (const CommandWords& entry : words) {
    if (entry.command.empty()) {
      global = joined(entry.options);
      continue;
    }
    commands.push_back(entry.command);
    cases += "    " + entry.command + ") words=\"" + joined(entry.options) + "\" ;;\n";
  }
  return "# bash completion for dit-ar\n"
         "_dit_ar() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local command=\"\" words=\"\" i\n"
         "  case \"$before\" in\n"
         "    --config|--out|--npz|--model|--worker) COMPREPLY=($(compgen -f -- \"$current\")); "
         "return ;;\n"
         "    --classification) COMPREPLY=($(compgen -W \"exact numerical approximate "
         "quantization\" -- \"$current\")); return ;;\n"
         "  esac\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"${COMP_WORDS[i]}\" in\n"
         "      --config) ((++i)) ;;\n"
         "      -*) ;;\n"
         "      *) command=\"${COMP_WORDS[i]}\"; break ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$command\" in\n"
         "    \"\") words=\"" +
         joined(commands) + "\" ;;\n" + cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words " +
         global +
         "\" -- \"$current\"))\n"
         "}\n"
         "complete -F _dit_ar dit-ar\n";
}

}  // namespace ditar
