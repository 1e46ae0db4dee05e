// A program as a person runs it: exit code and both streams. Blocks until it ends.
#pragma once

#include "temp_folder.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace ditar {

struct Answer {
  int code = 0;
  std::string output, errors;
};

/// `command` as the shell reads it; the words must be the test's own.
inline Answer run_program(const std::string& command) {
  const TempFolder folder;
  const auto out = folder.path() / "out", err = folder.path() / "err";
  const std::string whole = command + " >" + out.string() + " 2>" + err.string() + " </dev/null";
  const int status = std::system(whole.c_str());  // NOLINT(cert-env33-c): fixed words
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  return {WEXITSTATUS(status), read(out), read(err)};
}

}  // namespace ditar
