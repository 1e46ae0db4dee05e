#include "isolate/private_root.h"

#include "isolate/system_fault.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace ditar::isolate {
namespace {

namespace fs = std::filesystem;
constexpr const char* kOldRoot = "/oldroot";
constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV;

void mount_or_fail(const char* source, const std::string& target, const char* type,
                   unsigned long flags, const char* data) {
  if (::mount(source, target.c_str(), type, flags, data) != 0) {
    fail_system("mount " + std::string(type == nullptr ? source : type) + " on " + target);
  }
}

void make_target(const fs::path& target, bool is_folder) {
  std::error_code fault;
  if (is_folder) {
    fs::create_directories(target, fault);
  } else {
    fs::create_directories(target.parent_path(), fault);
    const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 && !fs::exists(target)) fail_system("make the mount point " + target.string());
    if (fd >= 0) ::close(fd);
  }
  if (fault) throw IoError("cannot make " + target.string() + ": " + fault.message());
}

void make_read_only(const std::string& target) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (::mount_setattr(AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes, sizeof attributes) !=
      0) {
    fail_system("make " + target + " read-only");
  }
}

struct Bind {
  std::string source, target;  ///< the source without symlinks
  bool read_only = true;
};

/// `source` is looked up in the old root.
void bind(const Bind& item) {
  const std::string source = kOldRoot + item.source;
  make_target(item.target, fs::is_directory(source));
  mount_or_fail(source.c_str(), item.target, nullptr, MS_BIND | MS_REC, nullptr);
  if (item.read_only) make_read_only(item.target);
}

void add_binds(std::vector<Bind>& binds, const std::vector<std::string>& paths, bool read_only) {
  for (const std::string& path : paths) {
    std::error_code fault;
    const fs::path real = fs::canonical(path, fault);
    if (fault) throw IoError("cannot admit " + path + " to the fence: " + fault.message());
    binds.push_back({real.string(), fs::path(path).lexically_normal().string(), read_only});
  }
}

/// Parents before children, so that a writable folder may lie in a readable one.
std::vector<Bind> ordered_binds(const FenceOptions& options) {
  std::vector<Bind> binds;
  add_binds(binds, options.readable, true);
  add_binds(binds, options.writable, false);
  std::stable_sort(binds.begin(), binds.end(), [](const Bind& a, const Bind& b) {
    return std::count(a.target.begin(), a.target.end(), '/') <
           std::count(b.target.begin(), b.target.end(), '/');
  });
  return binds;
}

struct SystemLink {
  std::string path, target;
};

void make_devices(const std::vector<std::string>& devices) {
  make_target("/dev", true);
  mount_or_fail("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=0755,size=1m");
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    bind({name, name, false});
  }
  for (const std::string& device : devices) bind({device, device, false});
  for (const auto& [name, target] :
       {std::pair{"/dev/fd", "/proc/self/fd"}, std::pair{"/dev/stdin", "/proc/self/fd/0"},
        std::pair{"/dev/stdout", "/proc/self/fd/1"}, std::pair{"/dev/stderr", "/proc/self/fd/2"},
        std::pair{"/dev/ptmx", "pts/ptmx"}}) {
    if (::symlink(target, name) != 0) fail_system(std::string("link ") + name);
  }
  make_target("/dev/pts", true);
  mount_or_fail("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=0620");
  make_target("/dev/shm", true);
  mount_or_fail("tmpfs", "/dev/shm", "tmpfs", kPlain, "mode=1777,size=25%");
}

}  // namespace

std::vector<std::string> system_folders() {
  std::vector<std::string> found;
  for (const char* name : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
                           "/opt", "/nix/store", "/gnu/store", "/sys"}) {
    if (fs::exists(name)) found.emplace_back(name);
  }
  return found;
}

void enter_private_root(const FenceOptions& options) {
  std::vector<Bind> system;
  std::vector<SystemLink> links;
  for (const std::string& path : system_folders()) {
    if (fs::is_symlink(path)) {
      links.push_back({path, fs::read_symlink(path).string()});
    } else {
      system.push_back({path, path, true});
    }
  }
  const std::vector<Bind> binds = ordered_binds(options);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    fail_system("make the mounts private");
  }
  mount_or_fail("tmpfs", "/tmp", "tmpfs", kPlain, "mode=0755,size=16m");
  if (::chdir("/tmp") != 0 || ::mkdir("oldroot", 0700) != 0) fail_system("prepare the new root");
  if (::syscall(SYS_pivot_root, ".", "oldroot") != 0 || ::chdir("/") != 0) {
    fail_system("change the root");
  }
  for (const Bind& item : system) bind(item);
  for (const SystemLink& link : links) {
    if (::symlink(link.target.c_str(), link.path.c_str()) != 0) fail_system("link " + link.path);
  }
  make_devices(options.devices);
  make_target("/tmp", true);
  mount_or_fail("tmpfs", "/tmp", "tmpfs", kPlain, "mode=1777,size=25%");
  for (const Bind& item : binds) bind(item);
  make_target("/proc", true);
}

void finish_private_root(const Layers& layers) {
  if (layers.pid) {
    mount_or_fail("proc", "/proc", "proc", kPlain | MS_NOEXEC, nullptr);
    for (const char* name : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}) {
      if (!fs::exists(name)) continue;
      mount_or_fail(name, name, nullptr, MS_BIND | MS_REC, nullptr);
      make_read_only(name);
    }
  } else {
    bind({"/proc", "/proc", true});
  }
  if (::umount2(kOldRoot, MNT_DETACH) != 0 || ::rmdir(kOldRoot) != 0) {
    fail_system("leave the old root");
  }
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0) {
    fail_system("make the new root read-only");
  }
}

}  // namespace ditar::isolate
