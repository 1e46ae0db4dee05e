#include "isolate/landlock_rules.h"

#include "isolate/private_root.h"
#include "isolate/system_fault.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace ditar::isolate {
namespace {

// Later than the header of Debian 12: rights and scopes of versions 2 to 6.
constexpr std::uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14, kIoctl = 1ULL << 15;
constexpr std::uint64_t kScopeAbstractSocket = 1ULL << 0, kScopeSignal = 1ULL << 1;

struct RulesetAttr {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kVersion1 = (1ULL << 13) - 1;  ///< every right of the first version
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                   LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctl;

std::uint64_t all_rights(int version) {
  std::uint64_t rights = kVersion1;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctl;
  return rights;
}

void allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) fail_system("admit " + path + " to the fence");
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail_system("look at " + path);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(info.st_mode) ? rights : rights & kOfFiles;
  rule.parent_fd = fd;
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    fail_system("add a Landlock rule for " + path);
  }
  ::close(fd);
}

}  // namespace

int landlock_version() noexcept {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

void restrict_files(const FenceOptions& options) {
  const int version = landlock_version();
  if (version == 0) throw IoError("this kernel has no Landlock");
  const std::uint64_t rights = all_rights(version);
  RulesetAttr attributes{rights, 0, 0};
  std::size_t size = sizeof attributes.handled_access_fs;
  if (version >= 6) {
    attributes.scoped = kScopeAbstractSocket | kScopeSignal;
    size = sizeof attributes;
  }
  const long made = ::syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
  if (made < 0) fail_system("make a Landlock ruleset");
  const int ruleset = static_cast<int>(made);
  if (options.layers.mount) {
    allow(ruleset, "/", kRead);  // the root holds only what is admitted
  } else {
    for (const std::string& path : system_folders()) allow(ruleset, path, kRead);
    for (const std::string& path : options.readable) allow(ruleset, path, kRead);
    allow(ruleset, "/proc", kRead);
  }
  for (const std::string& path : options.writable) allow(ruleset, path, rights);
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                           "/dev/ptmx", "/dev/pts", "/dev/shm"}) {
    if (::access(path, F_OK) == 0) allow(ruleset, path, rights);
  }
  if (options.layers.mount) allow(ruleset, "/tmp", rights);
  for (const std::string& path : options.devices) allow(ruleset, path, rights);
  if (::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) fail_system("apply Landlock");
  ::close(ruleset);
}

}  // namespace ditar::isolate
