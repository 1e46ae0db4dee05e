#include "isolate/namespaces.h"

#include "ditar/config/error.h"
#include "isolate/system_fault.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace ditar::isolate {
namespace {

void write_text(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written) fail_system(std::string("write ") + file);
  ::close(fd);
}

/// One id is mapped, its own, onto itself: all that a user without rights may ask for.
void map_own_ids(uid_t user, gid_t group) {
  const auto line = [](unsigned id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1";
  };
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", line(user));
  write_text("/proc/self/gid_map", line(group));
}

void raise_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (fd < 0 || ::ioctl(fd, SIOCGIFFLAGS, &request) != 0) fail_system("read the loopback's flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP | IFF_RUNNING);
  if (::ioctl(fd, SIOCSIFFLAGS, &request) != 0) fail_system("bring up the loopback");
  ::close(fd);
}

}  // namespace

void enter_namespaces(const Layers& layers) {
  if (!layers.user) return;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  int flags = CLONE_NEWUSER;
  if (layers.mount) flags |= CLONE_NEWNS;
  if (layers.pid) flags |= CLONE_NEWPID;
  if (layers.ipc) flags |= CLONE_NEWIPC;
  if (layers.net) flags |= CLONE_NEWNET;
  if (::unshare(flags) != 0) fail_system("unshare the namespaces " + to_string(layers));
  map_own_ids(user, group);
  if (layers.net) raise_loopback();
}

}  // namespace ditar::isolate
