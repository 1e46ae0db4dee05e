// Asking dit-worker by hand, in the environment of whoever asks: for what a person wants to see,
// never for a verdict. Blocks until the worker ends.
#pragma once

#include "ditar/coordinator/subprocess.h"

#include <chrono>
#include <string>
#include <vector>

namespace ditar {

/// `worker`, or dit-worker beside this program where it is empty. @throws Unavailable if it is not
/// there.
std::filesystem::path find_worker(const std::string& worker);

/// Runs `program` with `arguments`. @throws TimeoutError after `patience`.
ProcessResult call_by_hand(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments,
                           std::chrono::milliseconds patience);

/// Without blanks and line ends behind.
std::string trimmed(const std::string& text);
/// The worker's last line without its clock and name.
std::string fault_of(const std::string& errors);

}  // namespace ditar
