// The Communicator cases over MPI, run as `mpirun -np N mpi_check`. Prints what is wrong and ends
// with 1, so that the launcher reports it; no test framework, since every rank is a process.
#include "communicator_cases.h"
#include "ditar/config/error.h"
#include "ditar/parallel/mpi.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace ditar;
using namespace std::chrono_literals;

int check_collectives(const MpiRuntime& mpi) {
  auto comm = make_mpi_communicator(20s);
  int failures = 0;
  const auto expect = [&](const char* what, std::int64_t wrong) {
    if (wrong == 0) return;
    std::cerr << "rank " << mpi.rank() << ": " << what << ": " << wrong << " wrong\n";
    ++failures;
  };
  for (const std::int64_t count : {0, 1, 7, 100'000}) {
    expect("all_reduce", wrong_in_all_reduce(*comm, count));
  }
  expect("16-bit all_reduce", wrong_in_all_reduce_16bit(*comm));
  expect("integer all_reduce", wrong_in_integer_sum(*comm));
  expect("all_gather", wrong_in_all_gather(*comm, 33));
  expect("reduce_scatter", wrong_in_reduce_scatter(*comm, 129));
  expect("all_to_all", wrong_in_all_to_all(*comm, 17));
  expect("broadcast", wrong_in_broadcast(*comm));
  expect("send_recv", wrong_in_send_recv(*comm));
  expect("ring", wrong_in_ring(*comm));
  expect("split", wrong_in_split(*comm) + wrong_in_split(*comm));
  auto bootstrap = make_mpi_bootstrap(20s);
  const std::vector<std::byte> mine(static_cast<std::size_t>(mpi.rank()) * 5);
  const auto all = bootstrap->all_gather(mine);
  for (std::size_t r = 0; r < all.size(); ++r) expect("bootstrap", all[r].size() == r * 5 ? 0 : 1);
  return failures;
}

/// Rank 0 waits for a message that comes after its deadline: a TimeoutError in the meantime.
int check_deadline(const MpiRuntime& mpi) {
  static float value = 0.0F;  // the late message still lands here
  auto comm = make_mpi_communicator(mpi.rank() == 0 ? 200ms : 20'000ms);
  if (mpi.rank() != 0) {
    std::this_thread::sleep_for(600ms);
    comm->send(&value, 1, DType::kF32, 0, {});
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    comm->recv(&value, 1, DType::kF32, 1, {});
  } catch (const TimeoutError& error) {
    const auto waited = std::chrono::steady_clock::now() - start;
    return waited >= 200ms && waited < 550ms ? 0 : 1;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    MpiRuntime mpi;
    const int wanted = argc > 1 ? std::atoi(argv[1]) : 0;
    if (mpi.size() != wanted) {
      std::cerr << "started with " << mpi.size() << " ranks, wanted " << wanted << "\n";
      return 1;
    }
    const bool deadline = argc > 2 && std::string(argv[2]) == "deadline";
    const int failures = deadline ? check_deadline(mpi) : check_collectives(mpi);
    return failures == 0 ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
