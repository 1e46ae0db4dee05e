#include "ditar/parallel/in_process.h"

#include "ditar/config/error.h"
#include "ditar/parallel/reduce.h"
#include "in_process_group.h"

#include <cstring>
#include <utility>

namespace ditar {

namespace {

using Offer = InProcessGroup::Offer;

/// Which call it is; ranks that make different ones are told so.
enum class Call { kReduce = 1, kGather, kScatter, kAllToAll, kBroadcast, kMail, kSplit, kBlob };

int tag_of(Call call, DType dtype = DType::kU8, int root = 0) {
  return (static_cast<int>(call) * 256 + static_cast<int>(dtype)) * 4096 + root;
}

const std::byte* bytes_of(const void* pointer) { return static_cast<const std::byte*>(pointer); }
std::byte* bytes_of(void* pointer) { return static_cast<std::byte*>(pointer); }

void copy_block(void* target, const void* source, std::size_t size_bytes) {
  if (size_bytes != 0 && target != source) std::memmove(target, source, size_bytes);
}

class InProcessCommunicator : public Communicator {
 public:
  InProcessCommunicator(std::shared_ptr<InProcessGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return group_->size(); }
  std::string kind() const override { return "in-process"; }

  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    check(count, stream);
    const auto offers =
        group_->meet(rank_, {send, count, tag_of(Call::kReduce, dtype)}, "all_reduce_sum");
    sum_blocks(offers, 0, count, dtype, "all_reduce_sum", recv);
  }

  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    check(count, stream);
    const auto offers =
        group_->meet(rank_, {send, count, tag_of(Call::kScatter, dtype)}, "reduce_scatter_sum");
    sum_blocks(offers, rank_ * count, count, dtype, "reduce_scatter_sum", recv);
  }

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    check(count, stream);
    const std::size_t block = block_bytes(count, dtype);
    const auto offers =
        group_->meet(rank_, {send, count, tag_of(Call::kGather, dtype)}, "all_gather");
    for (std::size_t r = 0; r < offers.size(); ++r) {
      copy_block(bytes_of(recv) + r * block, offers[r].data, block);
    }
    group_->leave(rank_, "all_gather");
  }

  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    check(count, stream);
    require(send != recv || count == 0, "all_to_all cannot work in place");
    const std::size_t block = block_bytes(count, dtype);
    const auto offers =
        group_->meet(rank_, {send, count, tag_of(Call::kAllToAll, dtype)}, "all_to_all");
    for (std::size_t r = 0; r < offers.size(); ++r) {
      copy_block(bytes_of(recv) + r * block,
                 bytes_of(offers[r].data) + static_cast<std::size_t>(rank_) * block, block);
    }
    group_->leave(rank_, "all_to_all");
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    check(count, stream);
    check_peer(root);
    const auto offers =
        group_->meet(rank_, {data, count, tag_of(Call::kBroadcast, dtype, root)}, "broadcast");
    if (rank_ != root) {
      copy_block(data, offers[static_cast<std::size_t>(root)].data, block_bytes(count, dtype));
    }
    group_->leave(rank_, "broadcast");
  }

  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    check(count, stream);
    check_peer(peer);
    require(peer != rank_, "a rank cannot send to itself");
    group_->send(rank_, peer, {data, count, tag_of(Call::kMail, dtype)});
  }

  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    check(count, stream);
    check_peer(peer);
    require(peer != rank_, "a rank cannot receive from itself");
    group_->receive(rank_, peer, data, block_bytes(count, dtype),
                    {nullptr, count, tag_of(Call::kMail, dtype)});
  }

  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    check(count, stream);
    check_peer(to);
    check_peer(from);
    const Offer offer{send, count, tag_of(Call::kMail, dtype)};
    if (to == rank_ && from == rank_) return copy_block(recv, send, block_bytes(count, dtype));
    require(to != rank_ && from != rank_, "a rank cannot send to itself");
    group_->post(rank_, to, offer);
    group_->receive(rank_, from, recv, block_bytes(count, dtype),
                    {nullptr, count, tag_of(Call::kMail, dtype)});
    group_->await_taken(rank_, to);
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    const auto offers =
        group_->meet(rank_, {nullptr, 0, tag_of(Call::kSplit), color, key}, "split");
    int members = 0;
    int place = 0;
    for (int r = 0; r < size(); ++r) {
      const Offer& other = offers[static_cast<std::size_t>(r)];
      if (other.color != color) continue;
      ++members;
      if (std::pair(other.key, r) < std::pair(key, rank_)) ++place;
    }
    auto child = group_->subgroup(splits_++, color, members);
    group_->leave(rank_, "split");
    return std::make_unique<InProcessCommunicator>(std::move(child), place);
  }

  void wait(StreamView stream, std::chrono::milliseconds /*timeout*/) override {
    stream.synchronize();
  }
  void abort() noexcept override { group_->abort(); }

 private:
  void check(std::int64_t count, StreamView stream) const {
    require(count >= 0, "a collective over " + std::to_string(count) + " elements");
    require(stream.device().type == DeviceType::kCpu,
            "the in-process communicator works on host memory only");
  }
  void check_peer(int peer) const {
    require(peer >= 0 && peer < size(),
            "rank " + std::to_string(peer) + " is not one of " + std::to_string(size()));
  }
  static std::size_t block_bytes(std::int64_t count, DType dtype) {
    return static_cast<std::size_t>(count) * size_of(dtype);
  }

  /// Sums the same block of all ranks into a buffer of this rank's own, and writes it out only
  /// when everybody has read: recv may be somebody's send.
  void sum_blocks(const std::vector<Offer>& offers, std::int64_t first, std::int64_t count,
                  DType dtype, const char* what, void* recv) {
    const std::size_t size_bytes = block_bytes(count, dtype);
    if (scratch_.size() < size_bytes) scratch_.resize(size_bytes);
    std::vector<const void*> parts;
    for (const Offer& offer : offers) {
      parts.push_back(bytes_of(offer.data) + static_cast<std::size_t>(first) * size_of(dtype));
    }
    sum_in_order(parts, scratch_.data(), count, dtype);
    group_->leave(rank_, what);
    copy_block(recv, scratch_.data(), size_bytes);
  }

  std::shared_ptr<InProcessGroup> group_;
  int rank_;
  int splits_ = 0;
  std::vector<std::byte> scratch_;
};

class InProcessBootstrap : public Bootstrap {
 public:
  InProcessBootstrap(std::shared_ptr<InProcessGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return group_->size(); }

  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    const auto offers =
        group_->meet(rank_, {&mine, 0, tag_of(Call::kBlob)}, "the bootstrap's all_gather");
    std::vector<std::vector<std::byte>> all;
    for (const Offer& offer : offers) {
      const auto& blob = *static_cast<const std::span<const std::byte>*>(offer.data);
      all.emplace_back(blob.begin(), blob.end());
    }
    group_->leave(rank_, "the bootstrap's all_gather");
    return all;
  }
  void broadcast(std::vector<std::byte>& bytes, int root) override {
    require(root >= 0 && root < size(), "no rank " + std::to_string(root) + " to broadcast from");
    bytes = all_gather(bytes)[static_cast<std::size_t>(root)];
  }
  void barrier() override { (void)all_gather({}); }

 private:
  std::shared_ptr<InProcessGroup> group_;
  int rank_;
};

template <typename Base, typename Kind>
std::vector<std::unique_ptr<Base>> make_ranks(int size, std::chrono::milliseconds deadline) {
  require(size >= 1, "a group of " + std::to_string(size) + " ranks");
  auto group = std::make_shared<InProcessGroup>(size, deadline);
  std::vector<std::unique_ptr<Base>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<Kind>(group, r));
  return ranks;
}

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_in_process_bootstraps(
    int size, std::chrono::milliseconds deadline) {
  return make_ranks<Bootstrap, InProcessBootstrap>(size, deadline);
}

std::vector<std::unique_ptr<Communicator>> make_in_process_communicators(
    int size, std::chrono::milliseconds deadline) {
  return make_ranks<Communicator, InProcessCommunicator>(size, deadline);
}

}  // namespace ditar
