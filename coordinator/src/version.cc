#include "ditar/coordinator/version.h"

namespace ditar {

std::string_view version() noexcept { return "0.1.0"; }

}  // namespace ditar
