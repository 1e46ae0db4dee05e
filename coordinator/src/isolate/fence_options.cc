#include "isolate/fence_options.h"

#include "ditar/config/error.h"

#include <charconv>
#include <map>

namespace ditar::isolate {
namespace {

std::int64_t number_from(const std::string& option, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(fault == std::errc() && end == text.data() + text.size() && value >= 0,
          option + " needs a count, not '" + text + "'");
  return value;
}

}  // namespace

FenceOptions parse_fence_options(int argc, char** argv) {
  FenceOptions options;
  const std::map<std::string, std::vector<std::string>*> lists = {{"--read", &options.readable},
                                                                  {"--write", &options.writable},
                                                                  {"--device", &options.devices}};
  const std::map<std::string, std::int64_t*> numbers = {{"--memory", &options.memory_bytes},
                                                        {"--file-bytes", &options.file_bytes},
                                                        {"--processes", &options.processes}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--probe") {
      options.probe = true;
      continue;
    }
    if (word == "--") {
      options.command.assign(argv + i + 1, argv + argc);
      break;
    }
    require(i + 1 < argc, "'" + word + "' is unknown or lacks its value; see --help");
    const std::string value = argv[++i];
    if (word == "--layers") {
      options.layers = layers_from(value);
    } else if (const auto number = numbers.find(word); number != numbers.end()) {
      *number->second = number_from(word, value);
    } else {
      require(!value.empty() && value.front() == '/', word + " needs an absolute path");
      const auto list = lists.find(word);
      require(list != lists.end() || word == "--directory",
              "'" + word + "' is no option; see --help");
      if (list != lists.end()) {
        list->second->push_back(value);
      } else {
        options.directory = value;
      }
    }
  }
  require(options.probe || (!options.command.empty() && options.command.front().starts_with('/')),
          "no program given by its absolute path after --; see --help");
  require(!options.layers.pid || options.layers.mount,
          "the pid layer needs the mount layer for its own /proc");
  require(
      options.layers.user || !(options.layers.mount || options.layers.ipc || options.layers.net),
      "the namespaces need the user layer");
  return options;
}

}  // namespace ditar::isolate
