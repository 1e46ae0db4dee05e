#include "isolate/system_calls.h"

#include "isolate/system_fault.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <vector>

namespace ditar::isolate {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "dit-isolate knows the system calls of x86-64 and AArch64 only"
#endif

constexpr auto kRefused =
    std::to_array<std::uint32_t>({  // looking into or steering other processes
      SYS_ptrace, SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise,
          // mounts and namespaces
          SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare,
          SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
          SYS_mount_setattr,
          // the kernel itself
          SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_kexec_load, SYS_init_module,
          SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_syslog,
          SYS_acct, SYS_quotactl, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_personality,
          // keys and clocks
          SYS_add_key, SYS_request_key, SYS_keyctl, SYS_settimeofday, SYS_clock_settime,
          SYS_clock_adjtime, SYS_adjtimex
#if defined(__x86_64__)
          ,
          SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_kexec_file_load
#endif
    });

/// Libraries fall back from these; their arguments lie in memory that a filter cannot read.
constexpr auto kAbsent = std::to_array<std::uint32_t>(
    {SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register});

constexpr std::uint32_t kNewNamespace = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

sock_filter load(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter give(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter skip_unless_equal(std::uint32_t value, std::uint8_t count) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
}

std::vector<sock_filter> program() {
  const std::uint32_t denied = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOSYS;
  std::vector<sock_filter> code = {load(offsetof(seccomp_data, arch)),
                                   skip_unless_equal(kArchitecture, 1),
                                   BPF_STMT(BPF_JMP | BPF_JA, 1), give(SECCOMP_RET_KILL_PROCESS),
                                   load(offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40000000U, 0, 1));  // the x32 calls
  code.push_back(give(absent));
#endif
  for (const std::uint32_t call : kRefused) {
    code.push_back(skip_unless_equal(call, 1));
    code.push_back(give(denied));
  }
  for (const std::uint32_t call : kAbsent) {
    code.push_back(skip_unless_equal(call, 1));
    code.push_back(give(absent));
  }
  code.push_back(skip_unless_equal(SYS_clone, 3));
  code.push_back(load(offsetof(seccomp_data, args[0])));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespace, 0, 1));
  code.push_back(give(denied));
  code.push_back(give(SECCOMP_RET_ALLOW));
  return code;
}

}  // namespace

bool has_system_call_filter() noexcept {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void filter_system_calls() {
  std::vector<sock_filter> code = program();
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    fail_system("apply the filter of system calls");
  }
}

}  // namespace ditar::isolate
