// Exit codes of dit-ar and dit-worker. They follow sysexits.h where it has a word for the case.
// A verdict never shows in the exit code: KEEP, DISCARD and CRASH all end with 0.
#pragma once

namespace ditar {

enum class ExitCode : int {
  kOk = 0,       ///< done; for `experiment`: a verdict was reached, whatever it is
  kFailure = 1,  ///< an unexpected fault of the program itself
  kUsage = 2,    ///< unknown command, option or value
  kNoKeep = 10,  ///< a campaign or sweep finished without a KEEP
  kData = 65,    ///< damaged input or ledger
  kRules = 67,   ///< the session's rules refuse this (dirty tree, wrong branch, no baseline, ...)
  kUnavailable = 69,  ///< a tool, library or device is missing
  kIo = 74,           ///< the system refused a read, write or lock
  kTemporary = 75,    ///< the machine was at fault; trying again may help
  kProtocol = 76,     ///< a peer broke the wire contract
  kAuth = 77,         ///< a peer could not be authenticated
  kConfig = 78,       ///< a settings file is wrong
  kInterrupted = 130,
  kTerminated = 143,
};

constexpr int to_int(ExitCode code) noexcept { return static_cast<int>(code); }

}  // namespace ditar
