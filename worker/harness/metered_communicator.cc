#include "metered_communicator.h"

#include <utility>

namespace ditar {

namespace {

class MeteredCommunicator : public Communicator {
 public:
  MeteredCommunicator(Communicator& inner, ExchangeLog& log, ExchangeGroup origin)
      : inner_(inner), log_(log), index_(static_cast<int>(log.groups.size())) {
    log_.groups.push_back(origin);
  }
  MeteredCommunicator(std::unique_ptr<Communicator> inner, ExchangeLog& log, ExchangeGroup origin)
      : MeteredCommunicator(*inner, log, origin) {
    owned_ = std::move(inner);
  }

  int rank() const noexcept override { return inner_.rank(); }
  int size() const noexcept override { return inner_.size(); }
  std::string kind() const override { return inner_.kind(); }
  bool enqueues() const noexcept override { return inner_.enqueues(); }

  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    note(ExchangeOp::kAllReduce, count, dtype);
    inner_.all_reduce_sum(send, recv, count, dtype, stream);
  }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    note(ExchangeOp::kAllGather, count, dtype);
    inner_.all_gather(send, recv, count, dtype, stream);
  }
  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    note(ExchangeOp::kReduceScatter, count, dtype);
    inner_.reduce_scatter_sum(send, recv, count, dtype, stream);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    note(ExchangeOp::kAllToAll, count, dtype);
    inner_.all_to_all(send, recv, count, dtype, stream);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    note(ExchangeOp::kBroadcast, count, dtype, root == rank());
    inner_.broadcast(data, count, dtype, root, stream);
  }
  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    note(ExchangeOp::kSend, count, dtype);
    inner_.send(data, count, dtype, peer, stream);
  }
  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    note(ExchangeOp::kRecv, count, dtype);
    inner_.recv(data, count, dtype, peer, stream);
  }
  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    note(ExchangeOp::kSendRecv, count, dtype);
    inner_.send_recv(send, to, recv, from, count, dtype, stream);
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<MeteredCommunicator>(inner_.split(color, key), log_,
                                                 ExchangeGroup{index_, color, key});
  }
  void wait(StreamView stream, std::chrono::milliseconds timeout) override {
    inner_.wait(stream, timeout);
  }
  void abort() noexcept override { inner_.abort(); }

 private:
  void note(ExchangeOp op, std::int64_t count, DType dtype, bool sends = true) {
    ++log_.calls[{index_, op, count, dtype}];
    if (sends) log_.sent_bytes += sent_bytes(op, size(), count, dtype);
  }

  std::unique_ptr<Communicator> owned_;
  Communicator& inner_;
  ExchangeLog& log_;
  const int index_;
};

}  // namespace

std::string_view to_string(ExchangeOp op) noexcept {
  switch (op) {
    case ExchangeOp::kAllReduce:
      return "all_reduce";
    case ExchangeOp::kAllGather:
      return "all_gather";
    case ExchangeOp::kReduceScatter:
      return "reduce_scatter";
    case ExchangeOp::kAllToAll:
      return "all_to_all";
    case ExchangeOp::kBroadcast:
      return "broadcast";
    case ExchangeOp::kSend:
      return "send";
    case ExchangeOp::kRecv:
      return "recv";
    case ExchangeOp::kSendRecv:
      return "send_recv";
    case ExchangeOp::kPingPong:
      return "ping-pong";
  }
  return "unknown";
}

double sent_bytes(ExchangeOp op, int ranks, std::int64_t count, DType dtype) {
  const double bytes = static_cast<double>(count) * static_cast<double>(size_of(dtype));
  switch (op) {
    case ExchangeOp::kAllReduce:
      return 2.0 * (ranks - 1) / ranks * bytes;
    case ExchangeOp::kAllGather:
    case ExchangeOp::kReduceScatter:
    case ExchangeOp::kAllToAll:
      return (ranks - 1) * bytes;
    case ExchangeOp::kRecv:
      return 0.0;
    default:
      return bytes;
  }
}

std::unique_ptr<Communicator> make_metered_communicator(Communicator& inner, ExchangeLog& log) {
  return std::make_unique<MeteredCommunicator>(inner, log, ExchangeGroup{});
}

}  // namespace ditar
