// What mpirun's last words say about the rank that ended a group. Private to
// coordinator/src/launch. Stateless.
#pragma once

#include <string>

namespace ditar {

struct ExitNotice {
  int rank = -1;
  int signal = -1;
  int exit_code = -1;
  bool found() const noexcept { return rank >= 0; }
};

/// Reads the notices of Open MPI 4.1 and 5.
ExitNotice read_exit_notice(const std::string& log);

}  // namespace ditar
