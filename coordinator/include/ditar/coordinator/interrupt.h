// The wish of the person (or the system) that this process ends soon. Set by the program's signal
// handler, read by everything that waits. Lock-free; safe in signal handlers.
#pragma once

#include <atomic>

namespace ditar {

/// True after SIGINT, SIGTERM or SIGHUP was received.
std::atomic<bool>& interrupt_flag() noexcept;
/// The signal that set the flag, or 0.
std::atomic<int>& interrupt_signal() noexcept;
/// Installs the handlers. Call once from main().
void install_interrupt_handlers();
/// @throws Error with the exit code of the signal if the flag is set.
void throw_if_interrupted();

}  // namespace ditar
