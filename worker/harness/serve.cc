#include "serve.h"

#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/kernels/device.h"
#include "group_communicator.h"
#include "rank_context.h"
#include "stack_dump.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace ditar {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kStartPatience{60'000};
constexpr milliseconds kCollectivePatience{600'000};  // the coordinator's own deadlines come first

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

RankHello describe(int rank, int size, const Placement& placement) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  RankHello hello;
  hello.rank = rank;
  hello.size = size;
  hello.host = host.data();
  hello.pid = ::getpid();
  hello.device = placement.device;
  hello.cpus = current_cpus();
  hello.threads = placement.threads;
  hello.omp_wait_policy = variable("OMP_WAIT_POLICY");
  return hello;
}

std::vector<RankHello> exchange_hellos(Bootstrap& bootstrap, const RankHello& mine) {
  const std::string text = encode_meta(mine);
  std::vector<RankHello> all;
  for (const auto& blob : bootstrap.all_gather(std::as_bytes(std::span(text)))) {
    all.push_back(
        decode_meta<RankHello>({reinterpret_cast<const char*>(blob.data()), blob.size()}));
  }
  return all;
}

Placement own_placement(const LauncherFacts& facts) {
  const auto placements = parse_placements(variable("DITAR_PLACEMENT"));
  require(facts.rank >= 0 && facts.size >= 1,
          "serve mode was not started by mpirun or srun (no rank in the environment); dit-ar "
          "launches it, or use: mpirun -np 2 dit-worker bench");
  require(static_cast<int>(placements.size()) == facts.size,
          "the launch plan has " + std::to_string(placements.size()) +
              " ranks, the launcher started " + std::to_string(facts.size));
  require(facts.rank < facts.size, "the launcher gave rank " + std::to_string(facts.rank) + " of " +
                                       std::to_string(facts.size));
  return placements[static_cast<std::size_t>(facts.rank)];
}

}  // namespace

void leave_now(const std::string& why, int exit_code) {
  log_error(why);
  ::_exit(exit_code);
}

int serve(const ServeOptions& options) {
  RankContext context;
  context.endpoint = options.coord;
  context.attempt = AttemptId::parse(options.attempt);
  const LauncherFacts facts = launcher_facts();
  init_logging("dit-worker", facts.rank);
  const Placement placement = own_placement(facts);
  const std::string device = apply_placement(placement);
  require(device == "cpu" || cuda_device_count() == 1,
          "GPU " + placement.device + " is not there for this build of dit-worker");
  install_stack_dump();

  context.mpi = std::make_unique<MpiRuntime>();
  const int rank = context.mpi->rank();
  const int size = context.mpi->size();
  if (rank != facts.rank || size != facts.size) {
    leave_now("MPI says rank " + std::to_string(rank) + " of " + std::to_string(size) +
                  ", the launcher's environment rank " + std::to_string(facts.rank) + " of " +
                  std::to_string(facts.size) + ": this MPI library and that mpirun do not match",
              to_int(ExitCode::kUnavailable));
  }
  context.bootstrap = make_mpi_bootstrap(kStartPatience);
  context.hellos = exchange_hellos(*context.bootstrap, describe(rank, size, placement));
  if (size > 1) {
    bool one_host = true;
    for (const RankHello& hello : context.hellos) {
      one_host = one_host && hello.host == context.hellos.front().host;
    }
    context.links = connect_ranks(*context.bootstrap, one_host);
  }
  const PulseBinding pulse(context.links.page);
  context.communicator = make_group_communicator(device, size, kCollectivePatience);
  context.runner =
      std::make_unique<EngineRunner>(context.communicator.get(), rank, device, placement.threads);
  return rank == 0 ? lead(context) : follow(context);
}

}  // namespace ditar
