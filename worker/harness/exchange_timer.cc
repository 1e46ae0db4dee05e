#include "exchange_timer.h"

#include "ditar/kernels/tensor.h"
#include "ditar/parallel/pulse.h"

#include <algorithm>
#include <vector>

namespace ditar {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kGuard = 256;  // bytes behind what arrives, which nobody may touch
constexpr unsigned char kGuardByte = 0xA5;

bool sums(ExchangeOp op) {
  return op == ExchangeOp::kAllReduce || op == ExchangeOp::kReduceScatter;
}

/// Element `i` that `rank` sends where elements are summed: small enough for exact 16-bit sums.
double summand(int rank, std::int64_t i, int turn) {
  return static_cast<double>((7 * i + 3 * rank + turn) % 13);
}
/// Byte `i` that `rank` sends elsewhere.
unsigned char letter(int rank, std::int64_t i, int turn) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL +
                    static_cast<std::uint64_t>(131 * rank + turn);
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ULL;
  return static_cast<unsigned char>(x >> 56);
}

class Exchange {
 public:
  Exchange(Communicator& group, ExchangeOp op, std::int64_t count, DType dtype, Device device,
           std::chrono::milliseconds deadline)
      : group_(group),
        op_(op),
        count_(count),
        dtype_(dtype),
        place_(group.enqueues() ? device : Device{}),
        deadline_(deadline),
        stream_(place_),
        sent_(count * (blocks_sent() ? group.size() : 1)),
        received_(count * (blocks_received() ? group.size() : 1)),
        send_({bytes(sent_)}, DType::kU8, place_),
        recv_({bytes(received_) + kGuard}, DType::kU8, place_) {}

  std::int64_t look(int turn) {
    fill(turn);
    call();
    settle();
    return wrong(turn);
  }

  double time(int repeats) {
    meet();
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) call();
    settle();
    return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
  }

 private:
  bool blocks_sent() const {
    return op_ == ExchangeOp::kReduceScatter || op_ == ExchangeOp::kAllToAll;
  }
  bool blocks_received() const {
    return op_ == ExchangeOp::kAllGather || op_ == ExchangeOp::kAllToAll;
  }
  std::int64_t bytes(std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(size_of(dtype_));
  }

  void call() {
    const int size = group_.size(), rank = group_.rank();
    void* const send = send_.view().data();
    void* const recv = recv_.view().data();
    switch (op_) {
      case ExchangeOp::kAllReduce:
        return group_.all_reduce_sum(send, recv, count_, dtype_, stream_);
      case ExchangeOp::kAllGather:
        return group_.all_gather(send, recv, count_, dtype_, stream_);
      case ExchangeOp::kReduceScatter:
        return group_.reduce_scatter_sum(send, recv, count_, dtype_, stream_);
      case ExchangeOp::kAllToAll:
        return group_.all_to_all(send, recv, count_, dtype_, stream_);
      case ExchangeOp::kBroadcast:
        return group_.broadcast(recv, count_, dtype_, 0, stream_);
      case ExchangeOp::kPingPong:
        if (rank == 0) group_.send(send, count_, dtype_, 1, stream_);
        group_.recv(recv, count_, dtype_, 1 - rank, stream_);
        if (rank == 1) group_.send(send, count_, dtype_, 0, stream_);
        return;
      default:
        return group_.send_recv(send, (rank + 1) % size, recv, (rank + size - 1) % size, count_,
                                dtype_, stream_);
    }
  }
  void settle() { group_.wait(stream_, deadline_); }
  void meet() {
    Tensor mine({1}, DType::kU8, place_), all({group_.size()}, DType::kU8, place_);
    group_.all_gather(mine.view().data(), all.view().data(), 1, DType::kU8, stream_);
    settle();
  }

  /// Dense host memory of `elements` summands in the exchange's type.
  Tensor summands(int rank, std::int64_t elements, int turn) const {
    Tensor wide({elements}, DType::kF64, Device{}), narrow({elements}, dtype_, Device{});
    for (std::int64_t i = 0; i < elements; ++i) wide.as<double>()[i] = summand(rank, i, turn);
    convert(wide, narrow, {});
    return narrow;
  }

  void fill(int turn) {
    std::vector<unsigned char> out(static_cast<std::size_t>(bytes(received_) + kGuard), kGuardByte);
    if (op_ == ExchangeOp::kBroadcast && group_.rank() == 0) {
      for (std::int64_t i = 0; i < bytes(count_); ++i) {
        out[static_cast<std::size_t>(i)] = letter(0, i, turn);
      }
    }
    copy(ConstTensorView(out.data(), recv_.shape(), DType::kU8, Device{}), recv_, stream_);
    stream_.view().synchronize();
    if (sums(op_)) {
      const Tensor values = summands(group_.rank(), sent_, turn);
      copy(ConstTensorView(values.view().data(), send_.shape(), DType::kU8, Device{}), send_,
           stream_);
      return stream_.view().synchronize();
    }
    std::vector<unsigned char> letters(static_cast<std::size_t>(bytes(sent_)));
    for (std::size_t i = 0; i < letters.size(); ++i) {
      letters[i] = letter(group_.rank(), static_cast<std::int64_t>(i), turn);
    }
    copy(ConstTensorView(letters.data(), send_.shape(), DType::kU8, Device{}), send_, stream_);
    stream_.view().synchronize();
  }

  std::int64_t wrong(int turn) {
    Tensor host(recv_.shape(), DType::kU8, Device{});
    copy(recv_, host, stream_);
    stream_.view().synchronize();
    const auto* const got = host.as<unsigned char>();
    std::int64_t count = sums(op_) ? wrong_sums(got, turn) : wrong_letters(got, turn);
    for (std::int64_t i = 0; i < kGuard; ++i) count += got[bytes(received_) + i] != kGuardByte;
    return count;
  }

  std::int64_t wrong_sums(const unsigned char* got, int turn) const {
    Tensor sums({count_}, DType::kF64, Device{});
    convert(ConstTensorView(got, {count_}, dtype_, Device{}), sums, {});
    const std::int64_t first = op_ == ExchangeOp::kReduceScatter ? group_.rank() * count_ : 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      double expected = 0.0;
      for (int r = 0; r < group_.size(); ++r) expected += summand(r, first + i, turn);
      count += sums.as<double>()[i] != expected;
    }
    return count;
  }

  std::int64_t wrong_letters(const unsigned char* got, int turn) const {
    const int size = group_.size(), rank = group_.rank();
    const std::int64_t block = bytes(count_);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < bytes(received_); ++i) {
      int from = static_cast<int>(i / block);
      std::int64_t at = i % block;
      if (op_ == ExchangeOp::kBroadcast) from = 0;
      if (op_ == ExchangeOp::kSendRecv || op_ == ExchangeOp::kPingPong) {
        from = (rank + size - 1) % size;
      }
      if (op_ == ExchangeOp::kAllToAll) at += rank * block;
      count += got[i] != letter(from, at, turn);
    }
    return count;
  }

  Communicator& group_;
  const ExchangeOp op_;
  const std::int64_t count_;
  const DType dtype_;
  const Device place_;
  const std::chrono::milliseconds deadline_;
  Stream stream_;
  const std::int64_t sent_, received_;  ///< elements
  Tensor send_, recv_;
};

ExchangeOp as_timed(ExchangeOp op) {
  return op == ExchangeOp::kSend || op == ExchangeOp::kRecv ? ExchangeOp::kSendRecv : op;
}

}  // namespace

ExchangeTime time_exchange(Communicator& group, ExchangeOp op, std::int64_t count, DType dtype,
                           Device device, int repeats, std::chrono::milliseconds deadline) {
  require(count >= 1 && repeats >= 1, "an exchange needs an element and a repeat to be timed");
  require(op != ExchangeOp::kPingPong || group.size() == 2, "a ping-pong is of two ranks");
  pulse_tick(to_string(op), -1, kUsualOp + deadline);
  Exchange exchange(group, as_timed(op), count, dtype, device, deadline);
  ExchangeTime time;
  time.wrong = exchange.look(1);
  time.seconds = exchange.time(repeats) / (op == ExchangeOp::kPingPong ? 2 : 1);
  time.wrong += exchange.look(2);
  return time;
}

std::int64_t size_of_exchange(ExchangeOp op, int ranks, std::int64_t count, DType dtype) {
  const bool whole = op == ExchangeOp::kAllGather || op == ExchangeOp::kReduceScatter ||
                     op == ExchangeOp::kAllToAll;
  return count * static_cast<std::int64_t>(size_of(dtype)) * (whole ? ranks : 1);
}

double bus_factor(ExchangeOp op, int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (op) {
    case ExchangeOp::kAllReduce:
      return 2.0 * share;
    case ExchangeOp::kAllGather:
    case ExchangeOp::kReduceScatter:
    case ExchangeOp::kAllToAll:
      return share;
    default:
      return 1.0;
  }
}

}  // namespace ditar
