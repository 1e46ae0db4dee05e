#include "orphan_guard.h"

#include "ditar/config/exit_codes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace ditar {

namespace {

/// In a container the launcher itself may be process 1; anything else with that number is init.
bool init_is_a_launcher() {
  std::string name;
  std::ifstream("/proc/1/comm") >> name;
  for (const char* launcher : {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", "hydra",
                               "slurmstepd", "dit-ar"}) {
    if (name.starts_with(launcher)) return true;
  }
  return false;
}

}  // namespace

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == 1 && !init_is_a_launcher()) ::_exit(to_int(ExitCode::kTemporary));
}

}  // namespace ditar
