// The filter of system calls: what a build or a worker never needs and an attack might. Refused
// calls fail with EPERM (ENOSYS where a library has another way). Private to dit-isolate.
#pragma once

namespace ditar::isolate {

/// Whether this kernel takes filters.
bool has_system_call_filter() noexcept;
/// For this process and its children for good; no_new_privs must be set. @throws IoError.
void filter_system_calls();

}  // namespace ditar::isolate
