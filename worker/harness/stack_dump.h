// SIGUSR1 writes the main thread's stack to stderr, so that a hang leaves a trace.
// Async-signal-safe after the first call.
#pragma once

namespace ditar {

void install_stack_dump();

}  // namespace ditar
