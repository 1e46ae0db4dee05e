#include "isolate/layers.h"

#include "ditar/config/error.h"

#include <array>
#include <utility>

namespace ditar::isolate {
namespace {

constexpr std::array<std::pair<const char*, bool Layers::*>, 7> kLayerNames = {
    {{"user", &Layers::user},
     {"mount", &Layers::mount},
     {"pid", &Layers::pid},
     {"ipc", &Layers::ipc},
     {"net", &Layers::net},
     {"landlock", &Layers::landlock},
     {"seccomp", &Layers::seccomp}}};

}  // namespace

std::string to_string(const Layers& layers) {
  std::string text;
  for (const auto& [name, member] : kLayerNames) {
    if (layers.*member) text += (text.empty() ? "" : ",") + std::string(name);
  }
  return text.empty() ? "none" : text;
}

Layers layers_from(const std::string& text) {
  Layers layers;
  std::string rest = text == "none" ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
    bool known = false;
    for (const auto& [name, member] : kLayerNames) {
      if (word == name) layers.*member = known = true;
    }
    require(known, "'" + word +
                       "' is no layer; there are user, mount, pid, ipc, net, landlock and seccomp");
  }
  return layers;
}

}  // namespace ditar::isolate
