// What the transport itself costs: requests to an engine that does next to nothing.
#include "fake_engine.h"
#include "launch_fixture.h"

#include <algorithm>
#include <iostream>

namespace ditar {
namespace {

class LaunchLatencyTest : public LaunchFixture {
 protected:
  /// Median over 200 requests of `count` latents, in milliseconds.
  double median_ms(std::int64_t count) {
    auto session = WorkerSession::launch(plan(1));
    (void)session->load(load_request(""));
    RunRequest work = request(1);
    work.images = 1;
    work.labels = {1};
    work.height = 1;
    work.width = count;
    work.latents.assign(static_cast<std::size_t>(count), 0.5F);
    std::vector<double> times;
    for (int i = 0; i < 220; ++i) {
      const auto result = session->run(work);
      if (i >= 20) times.push_back(static_cast<double>(result.elapsed_ns) / 1e6);
      ++work.nonce;
    }
    session->stop();
    std::nth_element(times.begin(), times.begin() + 100, times.end());
    std::cout << "best " << *std::min_element(times.begin(), times.end()) << " ms\n";
    return times[100];
  }
};

TEST_F(LaunchLatencyTest, SmallRequestTakesAtMostItsShare) {
  const double median = median_ms(16'384);
  std::cout << "64 KiB: median " << median << " ms\n";
  EXPECT_LE(median, 0.15);
}

TEST_F(LaunchLatencyTest, LargeRequestTakesAtMostItsShare) {
  const double median = median_ms(262'144);
  std::cout << "1 MiB: median " << median << " ms\n";
  EXPECT_LE(median, 0.8);
}

}  // namespace
}  // namespace ditar
