// A git repository in a fresh folder for one test, driven with plain git by a shell. Not copyable.
#pragma once

#include "temp_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ditar {

class ScratchRepository {
 public:
  ScratchRepository() {
    shell("git init -q -b main . && git config user.name T && git config user.email t@t");
  }

  std::filesystem::path root() const { return folder_ / "repo"; }
  std::filesystem::path beside(const std::string& name) const { return folder_ / name; }

  /// Runs a line in the repository with `HOME` inside the scratch folder; a failure fails the test.
  void shell(const std::string& line) const {
    std::filesystem::create_directories(root());
    std::filesystem::create_directories(folder_ / "home");
    const std::string all = "cd '" + root().string() + "' && export HOME='" +
                            (folder_ / "home").string() + "' && ( " + line + " ) >'" +
                            (folder_ / "shell-output").string() + "' 2>&1";
    if (std::system(all.c_str()) != 0) ADD_FAILURE() << line << "\n" << output();
  }
  std::string output() const { return read(folder_ / "shell-output"); }

  void put(const std::string& path, const std::string& bytes) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::ofstream(root() / path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string get(const std::string& path) const { return read(root() / path); }
  void commit(const std::string& message) const {
    shell("git add -A && git commit -q --no-verify -m '" + message + "'");
  }

  static std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  TempFolder folder_;
};

}  // namespace ditar
