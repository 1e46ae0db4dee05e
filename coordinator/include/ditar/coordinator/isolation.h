// The fence around everything that a candidate's code touches: configure, build and the whole tree
// of mpirun run inside `dit-isolate`, never a rank alone (MPI_Init would fail and mpirun hang). The
// layers are found once by building them; a launch that cannot have the same ones fails, so that
// what a receipt says is what there was. Values; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

/// How far this machine protects a verdict from code. T0: rules alone. T1: hashes, clean exports
/// and timing across a process boundary. T2: also a fence that the kernel holds. T3: also another
/// user id, the GPU for itself and locked clocks.
enum class TrustLevel { kT0, kT1, kT2, kT3 };

/// The fence of this machine.
struct Isolation {
  std::filesystem::path program;  ///< dit-isolate, absolute; empty: no fence
  std::string layers = "none";    ///< as dit-isolate --layers takes them
  std::string hindrance;          ///< why there is no fence; empty if there is one

  bool fenced() const noexcept { return !program.empty() && layers != "none"; }
  bool has(const std::string& layer) const;
};

/// What one fenced command may touch beside the system's own folders (read and run only).
struct FencePlan {
  std::vector<std::filesystem::path> readable, writable, devices;  ///< absolute, existing
  std::filesystem::path directory = "/";
  bool network = false;  ///< the machine's own network instead of a loopback alone
  std::int64_t memory_bytes = 0, file_bytes = 0, processes = 0;  ///< 0: as inherited
};

/// Finds dit-isolate beside this program (or below a build folder) and asks it what is reachable.
/// Blocks for some milliseconds; never throws: without a fence `hindrance` says why.
Isolation find_isolation();

/// Admits the installation of a program outside the system's folders: the folder above its own.
void add_program_folders(FencePlan& plan, const std::filesystem::path& program);
/// Admits the existing folders of a search path "a:b"; null is an empty one.
void add_search_path(FencePlan& plan, const char* folders);

/// argv to put in front of a command; empty if there is no fence.
std::vector<std::string> fence_command(const Isolation& isolation, const FencePlan& plan);

TrustLevel trust_level(const Isolation& isolation);
/// "T2".
std::string to_string(TrustLevel level);
/// One sentence each on what this fence cannot promise.
std::vector<std::string> open_promises(const Isolation& isolation);

}  // namespace ditar
