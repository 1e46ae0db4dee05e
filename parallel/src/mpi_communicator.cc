// Collectives over host memory by MPI's non-blocking calls, so that every wait has a deadline. Sums
// are not MPI's: blocks are exchanged and added in rank order, which gives the same bits on every
// rank, run and MPI library.
#include "ditar/parallel/mpi.h"
#include "ditar/parallel/reduce.h"
#include "mpi_wait.h"

#include <atomic>
#include <cstring>
#include <vector>

namespace ditar {

namespace {

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, std::chrono::milliseconds deadline,
                  std::shared_ptr<std::atomic<bool>> aborted)
      : comm_(comm), deadline_(deadline), aborted_(std::move(aborted)) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  // The MPI communicator is left to MPI_Finalize: freeing it is collective, a rank may be gone.
  ~MpiCommunicator() override = default;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string kind() const override { return "mpi"; }

  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    const std::size_t block = block_bytes(count, dtype, stream);
    std::byte* all = scratch(block * ranks());
    gather(send, all, block, "all_reduce_sum");
    sum(all, block, recv, count, dtype);
  }

  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    const std::size_t block = block_bytes(count, dtype, stream);
    std::byte* all = scratch(block * ranks());
    exchange(send, all, block, "reduce_scatter_sum");
    sum(all, block, recv, count, dtype);
  }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    const std::size_t block = block_bytes(count, dtype, stream);
    auto* mine = static_cast<std::byte*>(recv) + block * static_cast<std::size_t>(rank_);
    gather(send == mine ? MPI_IN_PLACE : send, recv, block, "all_gather");
  }

  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    require(send != recv || count == 0, "all_to_all cannot work in place");
    exchange(send, recv, block_bytes(count, dtype, stream), "all_to_all");
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    check_peer(root);
    const int bytes = mpi_count(block_bytes(count, dtype, stream));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(data, bytes, MPI_BYTE, root, comm_, &request), "MPI_Ibcast");
    finish(request, "broadcast");
  }

  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    check_peer(peer);
    require(peer != rank_, "a rank cannot send to itself");
    const int bytes = mpi_count(block_bytes(count, dtype, stream));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(data, bytes, MPI_BYTE, peer, kTag, comm_, &request), "MPI_Isend");
    finish(request, "send to rank " + std::to_string(peer));
  }

  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    check_peer(peer);
    require(peer != rank_, "a rank cannot receive from itself");
    const int bytes = mpi_count(block_bytes(count, dtype, stream));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(data, bytes, MPI_BYTE, peer, kTag, comm_, &request), "MPI_Irecv");
    finish(request, "recv from rank " + std::to_string(peer));
  }

  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    check_peer(to);
    check_peer(from);
    const int bytes = mpi_count(block_bytes(count, dtype, stream));
    MPI_Request incoming = MPI_REQUEST_NULL;
    MPI_Request outgoing = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(recv, bytes, MPI_BYTE, from, kTag, comm_, &incoming), "MPI_Irecv");
    check_mpi(MPI_Isend(send, bytes, MPI_BYTE, to, kTag, comm_, &outgoing), "MPI_Isend");
    finish(incoming, "recv from rank " + std::to_string(from));
    finish(outgoing, "send to rank " + std::to_string(to));
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    MPI_Comm child = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(comm_, color, key, &child), "MPI_Comm_split");
    return std::make_unique<MpiCommunicator>(child, deadline_, aborted_);
  }

  void wait(StreamView stream, std::chrono::milliseconds /*timeout*/) override {
    stream.synchronize();
  }
  void abort() noexcept override { *aborted_ = true; }

 private:
  static constexpr int kTag = 71;

  std::size_t ranks() const { return static_cast<std::size_t>(size_); }

  std::size_t block_bytes(std::int64_t count, DType dtype, StreamView stream) const {
    require(count >= 0, "a collective over " + std::to_string(count) + " elements");
    require(stream.device().type == DeviceType::kCpu,
            "the MPI communicator works on host memory only");
    if (*aborted_) {
      throw Error("rank " + std::to_string(rank_) + ": the group was aborted",
                  ExitCode::kTemporary);
    }
    return static_cast<std::size_t>(count) * size_of(dtype);
  }
  void check_peer(int peer) const {
    require(peer >= 0 && peer < size_,
            "rank " + std::to_string(peer) + " is not one of " + std::to_string(size_));
  }
  std::byte* scratch(std::size_t size_bytes) {
    if (scratch_.size() < size_bytes) scratch_.resize(size_bytes);
    return scratch_.data();
  }
  void gather(const void* send, void* recv, std::size_t block, const char* what) {
    const int bytes = mpi_count(block);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, comm_, &request), what);
    finish(request, what);
  }
  void exchange(const void* send, void* recv, std::size_t block, const char* what) {
    const int bytes = mpi_count(block);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ialltoall(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, comm_, &request), what);
    finish(request, what);
  }
  void sum(const std::byte* all, std::size_t block, void* recv, std::int64_t count, DType dtype) {
    parts_.clear();
    for (std::size_t r = 0; r < ranks(); ++r) parts_.push_back(all + r * block);
    sum_in_order(parts_, recv, count, dtype);
  }
  void finish(MPI_Request& request, const std::string& what) {
    wait_mpi(request, rank_, what, deadline_, aborted_.get(), MpiPatience::kBusy);
  }

  MPI_Comm comm_;
  std::chrono::milliseconds deadline_;
  int rank_ = 0;
  int size_ = 1;
  const std::shared_ptr<std::atomic<bool>> aborted_;  ///< shared with what it was split from
  std::vector<std::byte> scratch_;
  std::vector<const void*> parts_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(std::chrono::milliseconds deadline) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(comm, deadline,
                                           std::make_shared<std::atomic<bool>>(false));
}

}  // namespace ditar
