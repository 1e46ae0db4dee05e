#include "isolate/confine.h"

#include "isolate/landlock_rules.h"
#include "isolate/system_calls.h"
#include "isolate/system_fault.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace ditar::isolate {
namespace {

void limit(__rlimit_resource resource, std::int64_t value, const char* name) {
  rlimit limits{};
  ::getrlimit(resource, &limits);
  limits.rlim_max = std::min<rlim_t>(limits.rlim_max, static_cast<rlim_t>(value));
  limits.rlim_cur = limits.rlim_max;
  if (::setrlimit(resource, &limits) != 0) fail_system(std::string("limit ") + name);
}

void set_limits(const FenceOptions& options) {
  limit(RLIMIT_CORE, 0, "core files");
  limit(RLIMIT_RTPRIO, 0, "real-time priority");
  if (options.memory_bytes > 0) limit(RLIMIT_AS, options.memory_bytes, "memory");
  if (options.file_bytes > 0) limit(RLIMIT_FSIZE, options.file_bytes, "files");
  // Outside a user namespace the count would hold all other programs of this user too.
  if (options.processes > 0 && options.layers.user) {
    limit(RLIMIT_NPROC, options.processes, "processes");
  }
  // Where memory runs out, the system is to end these first.
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    (void)!::write(fd, "1000", 4);
    ::close(fd);
  }
}

void drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    (void)::prctl(PR_CAPBSET_DROP, capability);  // refused where there is none to drop
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) fail_system("drop the capabilities");
}

}  // namespace

void confine_and_run(const FenceOptions& options) {
  if (::chdir(options.directory.c_str()) != 0) fail_system("enter " + options.directory);
  set_limits(options);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail_system("refuse new privileges");
  drop_capabilities();
  if (options.layers.landlock) restrict_files(options);
  if (options.layers.seccomp) filter_system_calls();
  std::vector<char*> arguments;
  for (const std::string& word : options.command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  fail_system("start " + options.command.front());
}

}  // namespace ditar::isolate
