// One way to report a refused system call. Private to dit-isolate.
#pragma once

#include "ditar/config/error.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace ditar::isolate {

/// @throws IoError "cannot WHAT: system's reason", from errno.
[[noreturn]] inline void fail_system(const std::string& what) {
  const int code = errno;
  throw IoError("cannot " + what + ": " + std::strerror(code));
}

}  // namespace ditar::isolate
