#include "bench_group.h"

#include "ditar/parallel/mpi.h"
#include "group_communicator.h"
#include "placement.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace ditar {

namespace {

constexpr std::chrono::minutes kPatience{10};  // the watch names a rank long before

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

void block_terminate() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

}  // namespace

BenchGroup::BenchGroup() {
  const LauncherFacts facts = launcher_facts();
  if (facts.size < 1) return;
  if (facts.size > 1) block_terminate();
  mpi_ = std::make_unique<MpiRuntime>();
  if (mpi_->rank() != facts.rank || mpi_->size() != facts.size) {
    throw Unavailable("MPI says rank " + std::to_string(mpi_->rank()) + " of " +
                      std::to_string(mpi_->size()) + ", the launcher's environment rank " +
                      std::to_string(facts.rank) + " of " + std::to_string(facts.size) + ": " +
                      MpiRuntime::library() +
                      " and this launcher do not match; start with that MPI's mpirun");
  }
  bootstrap_ = make_mpi_bootstrap(kPatience);
}

BenchGroup::~BenchGroup() { stop_watch(); }

void BenchGroup::stop_watch() {
  work_.reset();
  heartbeat_.reset();
}

// Nobody closes a link before everybody has stopped to look at it.
void BenchGroup::finish() {
  barrier();
  stop_watch();
  barrier();
}

int BenchGroup::rank() const { return mpi_ ? mpi_->rank() : 0; }
int BenchGroup::size() const { return mpi_ ? mpi_->size() : 1; }

void BenchGroup::connect(const std::string& device) {
  if (size() == 1) return;
  bool one_host = true;
  for (const std::string& other : gather(host_name())) one_host &= other == host_name();
  links_ = connect_ranks(*bootstrap_, one_host);
  pulse_ = std::make_unique<PulseBinding>(links_.page);
  watch_ = std::make_unique<GroupWatch>(links_);
  const auto fds = links_.hub ? links_.hub->fds() : std::vector<int>{links_.spoke->fd()};
  heartbeat_ = std::make_unique<Heartbeat>([this] { look(); }, fds, true);
  work_ = std::make_unique<Heartbeat::Work>(*heartbeat_);
  communicator_ = make_group_communicator(device, size(), kPatience);
  abortable_ = communicator_.get();
}

void BenchGroup::barrier() {
  if (bootstrap_) bootstrap_->barrier();
}

std::vector<std::string> BenchGroup::gather(const std::string& mine) {
  if (!bootstrap_) return {mine};
  std::vector<std::string> all;
  for (const auto& blob : bootstrap_->all_gather(std::as_bytes(std::span(mine)))) {
    all.emplace_back(reinterpret_cast<const char*>(blob.data()), blob.size());
  }
  return all;
}

void BenchGroup::leave(const std::string& why, int exit_code) {
  leave_group(abortable_, why, exit_code);
}

void BenchGroup::look() noexcept {
  const int code = to_int(ExitCode::kTemporary);
  try {
    if (links_.spoke && links_.spoke->lead_is_gone()) leave("rank 0 is gone", code);
    watch_->look();
    if (links_.hub) links_.hub->tell_pulse(*links_.page);
    if (links_.spoke) {
      links_.spoke->send({MessageType::kProgress, 0, encode_progress(0, *links_.page), {}});
    }
  } catch (const RankStalled& error) {
    watch_->kill(error.rank());
    leave(error.message(), code);
  } catch (const Error& error) {
    leave(error.message(), code);
  } catch (const std::exception& error) {
    leave(error.what(), to_int(ExitCode::kFailure));
  }
}

}  // namespace ditar
