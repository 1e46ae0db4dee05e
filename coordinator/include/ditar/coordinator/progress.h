// How long work tells where it is. The command line shows it as a bar or as lines; tests count it.
// Implementations need not be thread-safe: one thread at a time calls.
#pragma once

#include <cstdint>
#include <string_view>

namespace ditar {

class Progress {
 public:
  virtual ~Progress() = default;
  /// A new piece of work begins, e.g. "build" or "quality: free-running set".
  virtual void stage(std::string_view name) = 0;
  /// `done` of `total` parts of the present stage are finished.
  virtual void update(std::int64_t done, std::int64_t total) = 0;
  /// One remark worth a line of its own.
  virtual void note(std::string_view text) = 0;
};

/// Ignores everything.
class SilentProgress final : public Progress {
 public:
  void stage(std::string_view) override {}
  void update(std::int64_t, std::int64_t) override {}
  void note(std::string_view) override {}
};

}  // namespace ditar
