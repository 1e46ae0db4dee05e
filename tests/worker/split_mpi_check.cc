// Every legal plan of N ranks over MPI against one rank: the same bits where images or branches are
// split, within 1e-5 elsewhere. Run as `mpirun -np N split_mpi_check
// PLAN...`. Prints what is wrong and ends with 1.
#include "ditar/config/error.h"
#include "ditar/parallel/mpi.h"
#include "ditar/topology/plan.h"
#include "split_cases.h"

#include <unistd.h>

#include <chrono>
#include <iostream>

namespace {

using namespace ditar;

int check(const std::filesystem::path& model, const SplitJob& job, Communicator& communicator) {
  const auto images = run_split_job(model, job, &communicator);
  if (communicator.rank() != 0) return 0;
  const double error = relative_error(images, run_split_job(model, job, nullptr));
  const Plan plan = parse_plan(job.plan);
  const bool same_bits = plan.tensor * plan.sequence * plan.pipeline == 1;  // data and CFG alone
  const bool right = error <= (same_bits ? 0.0 : 1e-5);
  std::cout << job.plan << " " << job.height << "x" << job.width << ": relative L2 " << error
            << (right ? "\n" : "  TOO MUCH\n");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    MpiRuntime mpi;
    const auto communicator = make_mpi_communicator(std::chrono::seconds(60));
    int failures = argc > 1 ? 0 : 1;
    for (const auto& [height, width] : {std::pair{17, 17}, std::pair{5, 9}}) {
      // Each rank writes its own file: ranks may be on several hosts.
      const auto model = std::filesystem::temp_directory_path() /
                         ("split_mpi_check." + std::to_string(::getpid()) + ".safetensors");
      write_split_model(model, {.height = height, .width = width});
      for (int i = 1; i < argc; ++i) {
        const SplitJob job{.plan = argv[i], .height = height, .width = width};
        failures += check(model, job, *communicator);
      }
      std::filesystem::remove(model);
    }
    return failures == 0 ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
