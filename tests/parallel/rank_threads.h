// Runs one function on every rank of an in-process group, each on a thread of its own.
#pragma once

#include "ditar/parallel/in_process.h"

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace ditar {

/// Gives each rank's exception, or null. All ranks have ended when it returns.
inline std::vector<std::exception_ptr> run_ranks(
    int size, const std::function<void(Communicator&)>& body,
    std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  auto ranks = make_in_process_communicators(size, deadline);
  std::vector<std::exception_ptr> faults(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*ranks[r]);
      } catch (...) {
        faults[r] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return faults;
}

inline void rethrow_first(const std::vector<std::exception_ptr>& faults) {
  for (const auto& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
}

}  // namespace ditar
