#include "ditar/parallel/mpi.h"
#include "mpi_wait.h"

#include <cstring>
#include <numeric>

namespace ditar {

namespace {

class MpiBootstrap : public Bootstrap {
 public:
  explicit MpiBootstrap(std::chrono::milliseconds deadline) : deadline_(deadline) {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  // The duplicate is left to MPI_Finalize: freeing it is collective, and a rank may be gone.
  ~MpiBootstrap() override = default;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    const auto ranks = static_cast<std::size_t>(size_);
    const int my_bytes = mpi_count(mine.size());
    std::vector<int> counts(ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(&my_bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_, &request),
              "MPI_Iallgather");
    finish(request, "the bootstrap's all_gather");
    std::vector<int> offsets(ranks);
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    std::vector<std::byte> joined(static_cast<std::size_t>(offsets.back() + counts.back()));
    check_mpi(MPI_Iallgatherv(mine.data(), my_bytes, MPI_BYTE, joined.data(), counts.data(),
                              offsets.data(), MPI_BYTE, comm_, &request),
              "MPI_Iallgatherv");
    finish(request, "the bootstrap's all_gather");
    std::vector<std::vector<std::byte>> all;
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto begin = joined.begin() + offsets[r];
      all.emplace_back(begin, begin + counts[r]);
    }
    return all;
  }

  void broadcast(std::vector<std::byte>& bytes, int root) override {
    require(root >= 0 && root < size_, "no rank " + std::to_string(root) + " to broadcast from");
    int count = mpi_count(bytes.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(&count, 1, MPI_INT, root, comm_, &request), "MPI_Ibcast");
    finish(request, "the bootstrap's broadcast");
    bytes.resize(static_cast<std::size_t>(count));
    check_mpi(MPI_Ibcast(bytes.data(), count, MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
    finish(request, "the bootstrap's broadcast");
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
    finish(request, "the bootstrap's barrier");
  }

 private:
  void finish(MPI_Request& request, const char* what) {
    wait_mpi(request, rank_, what, deadline_, nullptr, MpiPatience::kIdle);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::chrono::milliseconds deadline_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Bootstrap> make_mpi_bootstrap(std::chrono::milliseconds deadline) {
  return std::make_unique<MpiBootstrap>(deadline);
}

}  // namespace ditar
