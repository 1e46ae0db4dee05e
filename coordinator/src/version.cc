#include "ditar/coordinator/version.h"

#include "ditar/config/sha256.h"

namespace ditar {

std::string_view version() noexcept { return "0.1.0"; }

const std::string& program_sha256() {
  static const std::string hash = sha256_file("/proc/self/exe");
  return hash;
}

}  // namespace ditar
