// The layers of the fence around untrusted processes. A value; pure. Private to dit-isolate.
#pragma once

#include <string>

namespace ditar::isolate {

/// Which layers are wanted, or were reached.
struct Layers {
  bool user = false;   ///< user namespace: no capability outside, no ptrace of the coordinator
  bool mount = false;  ///< mount namespace: a root of allow-listed folders alone
  bool pid = false;    ///< pid namespace: nothing outlives the fence, nothing outside is seen
  bool ipc = false;    ///< System V IPC and POSIX queues of its own
  bool net = false;    ///< network namespace: loopback alone
  bool landlock =
      false;             ///< file rules, signals and abstract sockets held by the kernel's Landlock
  bool seccomp = false;  ///< a filter of system calls
};

/// "user,mount,pid": in the order of the fields; "none" if there is none.
std::string to_string(const Layers& layers);
/// @throws InvalidArgument naming the word that is no layer.
Layers layers_from(const std::string& text);

}  // namespace ditar::isolate
