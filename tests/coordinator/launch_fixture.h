// Plans for the scripted worker and the question every fault test ends with: is anything left?
#pragma once

#include "ditar/coordinator/worker_session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

namespace ditar {

class LaunchFixture : public testing::Test {
 protected:
  void SetUp() override;
  /// Asserts that no process carries a tag of a launch from this test.
  void TearDown() override;

  /// The scripted worker on this host, one thread a rank, short deadlines.
  LaunchPlan plan(int ranks) const;
  static LoadRequest load_request(const std::string& script);
  /// 2 images of 1 x 4 x 4 over `steps` steps; the nonce counts up.
  static RunRequest request(int steps = 3);
  /// Launches, loads and runs a script; gives how it failed. Fails the test if it did not.
  WorkerFailure failure_of(const LaunchPlan& plan, const std::string& script, int steps = 5);

  std::filesystem::path folder_;
};

/// Runs `action` and gives the WorkerFailure it throws; fails the test otherwise.
WorkerFailure failure_of(const std::function<void()>& action);

/// Processes whose environment holds a DITAR_MARK of this test process.
std::string own_processes();

}  // namespace ditar
