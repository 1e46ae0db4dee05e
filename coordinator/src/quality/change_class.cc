#include "ditar/coordinator/quality/change_class.h"

#include "ditar/config/error.h"

#include <algorithm>

namespace ditar {

std::string_view to_string(ChangeClass value) noexcept {
  switch (value) {
    case ChangeClass::kExact:
      return "exact";
    case ChangeClass::kNumerical:
      return "numerical";
    case ChangeClass::kQuantization:
      return "quantization";
    case ChangeClass::kApproximate:
      return "approximate";
  }
  return "approximate";
}

ChangeClass change_class_from(std::string_view text) {
  for (const ChangeClass value : {ChangeClass::kExact, ChangeClass::kNumerical,
                                  ChangeClass::kQuantization, ChangeClass::kApproximate}) {
    if (to_string(value) == text) return value;
  }
  throw InvalidArgument("class '" + std::string(text) +
                        "' is none of exact, numerical, approximate, quantization");
}

ChangeClass loosest(ChangeClass a, ChangeClass b) noexcept { return std::max(a, b); }

}  // namespace ditar
