#include "rank_threads.h"

#include "ditar/parallel/in_process.h"
#include "ditar/parallel/pulse.h"

#include <exception>
#include <thread>
#include <vector>

namespace ditar {

void on_rank_threads(int ranks, std::chrono::milliseconds deadline,
                     const std::function<void(Communicator&)>& body) {
  const auto communicators = make_in_process_communicators(ranks, deadline);
  std::vector<std::exception_ptr> faults(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < communicators.size(); ++r) {
    threads.emplace_back([&, r] {
      const PulseBinding pulse(std::make_shared<PulsePage>());
      try {
        body(*communicators[r]);
      } catch (...) {
        faults[r] = std::current_exception();
        communicators[r]->abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
}

}  // namespace ditar
