#include "ditar/coordinator/build_flags.h"

#include <nlohmann/json.hpp>

#include <sstream>

namespace ditar {
namespace {

/// Words of a command line; CMake quotes those that hold a space or a quote.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && i + 1 < command.size()) {
      word += command[++i];
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
    } else if (c == ' ' && quote == 0) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

void cut(std::string& text, const std::string& part) {
  for (std::size_t at = text.find(part); !part.empty() && at != std::string::npos;
       at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

bool takes_a_path(const std::string& word) {
  return word == "-o" || word == "-c" || word == "-x" || word == "-MF" || word == "-MT" ||
         word == "-MQ";
}

}  // namespace

BuildFlags build_flags(const std::string& compile_commands, const std::string& source,
                       const std::string& build) {
  BuildFlags out;
  const auto entries = nlohmann::json::parse(compile_commands, nullptr, false);
  if (!entries.is_array()) return out;
  for (const nlohmann::json& entry : entries) {
    std::string file = entry.value("file", "");
    if (file.rfind(source + "/", 0) == 0) file.erase(0, source.size() + 1);
    const std::vector<std::string> words = words_of(entry.value("command", ""));
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (takes_a_path(words[i])) {
        ++i;
        continue;
      }
      std::string flag = words[i];
      cut(flag, build);
      cut(flag, source);
      if (!flag.empty() && flag.front() == '-') out[file].insert(flag);
    }
  }
  return out;
}

std::vector<std::string> flag_differences(const BuildFlags& before, const BuildFlags& after) {
  std::map<std::string, std::vector<std::string>> files_of;  // "+flag" to its files
  for (const auto& [file, flags] : after) {
    const auto old = before.find(file);
    if (old == before.end()) continue;
    for (const std::string& flag : flags) {
      if (!old->second.contains(flag)) files_of["+" + flag].push_back(file);
    }
    for (const std::string& flag : old->second) {
      if (!flags.contains(flag)) files_of["-" + flag].push_back(file);
    }
  }
  std::vector<std::string> out;
  for (const auto& [flag, files] : files_of) {
    std::string text = flag + " in " + files.front();
    if (files.size() > 1) text += " and " + std::to_string(files.size() - 1) + " others";
    out.push_back(text);
  }
  return out;
}

std::string to_text(const BuildFlags& flags) {
  std::string out;
  for (const auto& [file, words] : flags) {
    for (const std::string& word : words) out.append(file).append("\t").append(word).append("\n");
  }
  return out;
}

BuildFlags build_flags_from(const std::string& text) {
  BuildFlags out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) out[line.substr(0, tab)].insert(line.substr(tab + 1));
  }
  return out;
}

}  // namespace ditar
