// What dit-isolate is asked to do. A value. Private to dit-isolate.
#pragma once

#include "isolate/layers.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ditar::isolate {

struct FenceOptions {
  bool probe = false;
  Layers layers;
  std::vector<std::string> readable;  ///< absolute; beside the system's folders
  std::vector<std::string> writable;  ///< absolute
  std::vector<std::string> devices;   ///< device files, read and write
  std::int64_t memory_bytes = 0;      ///< address space of each process; 0: as inherited
  std::int64_t file_bytes = 0;        ///< largest file written; 0: as inherited
  std::int64_t processes = 0;         ///< of this user inside; 0: as inherited
  std::string directory = "/";        ///< working folder of the command
  std::vector<std::string> command;   ///< absolute program and its arguments
};

/// @throws InvalidArgument naming the word that does not fit.
FenceOptions parse_fence_options(int argc, char** argv);

inline constexpr const char* kFenceUsage =
    "dit-isolate runs one program and everything it starts inside a fence.\n"
    "usage: dit-isolate --layers LIST [--read PATH] [--write PATH] [--device PATH]\n"
    "                   [--directory PATH] [--memory BYTES] [--file-bytes BYTES]\n"
    "                   [--processes N] -- PROGRAM [ARGUMENT...]\n"
    "       dit-isolate --probe     prints the layers that this machine gives\n"
    "LIST holds user, mount, pid, ipc, net, landlock, seccomp, by commas, or none. A layer that\n"
    "cannot be reached is an error (exit 125), never left out in silence; else the exit status is\n"
    "the program's own. PATHs are absolute; --read, --write and --device may be repeated.\n";

}  // namespace ditar::isolate
