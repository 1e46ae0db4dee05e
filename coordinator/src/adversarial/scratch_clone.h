// A throw-away clone in which the suite's commits are made. Private to coordinator/src/adversarial.
#pragma once

#include "ditar/coordinator/adversarial.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ditar {

class ScratchClone {
 public:
  /// Clones HEAD of `root` into `folder` (emptied first) on branch autoresearch/adversarial.
  ScratchClone(const std::filesystem::path& root, std::filesystem::path folder);

  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Back to the original commit, nothing left of the case before.
  void reset();
  /// Makes the case's commit. @throws DataError if an edit does not fit the sources.
  void commit(const AdversarialCase& one, const std::string& shared_engine);
  /// Replaces HEAD by a commit with one more file, or with another message alone.
  void amend(const std::string& message);
  void amend_message(const std::string& message) const;
  /// Replaces HEAD by a commit whose tree has one more entry, "..".
  void commit_parent_path() const;

 private:
  std::string git(const std::vector<std::string>& arguments, const std::string& input = "") const;
  void edit(const AdversarialCase& one, const CaseEdit& edit) const;
  void splice_engine(const AdversarialCase& one, const std::string& shared_engine) const;
  void set_knobs(const AdversarialCase& one) const;

  std::filesystem::path folder_;
};

}  // namespace ditar
