// What a worker group leaves beside its answers: files, processes, made-up figures in its output.
// Private to coordinator/src/launch; pure but for reading /proc and the folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

/// Names of what lies in a group's own HOME; the folder "cuda" is the driver's cache.
std::vector<std::string> files_left(const std::filesystem::path& home);

/// "name (pid)" of the processes of `all` that are neither in `ranks` nor a launcher's. Empty where
/// a rank's number is not known (-1), for then nothing can be told.
std::vector<std::string> processes_beyond(const std::vector<pid_t>& ranks,
                                          const std::vector<pid_t>& all);

/// The first line of a log that imitates what a reader of figures looks for (a verdict, a time in
/// nanoseconds, a speed-up), 80 characters at most; empty if there is none.
std::string imitated_figure(const std::string& log);

}  // namespace ditar
