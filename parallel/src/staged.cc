#include "ditar/parallel/staged.h"

#include "ditar/kernels/buffer.h"

#include <utility>

namespace ditar {

namespace {

class StagedCommunicator : public Communicator {
 public:
  explicit StagedCommunicator(std::unique_ptr<Communicator> host) : host_(std::move(host)) {}

  int rank() const noexcept override { return host_->rank(); }
  int size() const noexcept override { return host_->size(); }
  std::string kind() const override { return host_->kind() + ", staged"; }

  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    through(send, recv, count, count, dtype, stream,
            [&](const void* from, void* to) { host_->all_reduce_sum(from, to, count, dtype, {}); });
  }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    through(send, recv, count, size() * count, dtype, stream,
            [&](const void* from, void* to) { host_->all_gather(from, to, count, dtype, {}); });
  }
  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    through(send, recv, size() * count, count, dtype, stream, [&](const void* from, void* to) {
      host_->reduce_scatter_sum(from, to, count, dtype, {});
    });
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    through(send, recv, size() * count, size() * count, dtype, stream,
            [&](const void* from, void* to) { host_->all_to_all(from, to, count, dtype, {}); });
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    const bool mine = root == rank();
    through(mine ? data : nullptr, mine ? nullptr : data, count, count, dtype, stream,
            [&](const void* from, void* to) {
              host_->broadcast(mine ? const_cast<void*>(from) : to, count, dtype, root, {});
            });
  }
  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    through(data, nullptr, count, 0, dtype, stream,
            [&](const void* from, void*) { host_->send(from, count, dtype, peer, {}); });
  }
  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    through(nullptr, data, 0, count, dtype, stream,
            [&](const void*, void* to) { host_->recv(to, count, dtype, peer, {}); });
  }
  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    through(send, recv, count, count, dtype, stream, [&](const void* outgoing, void* incoming) {
      host_->send_recv(outgoing, to, incoming, from, count, dtype, {});
    });
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return make_staged_communicator(host_->split(color, key));
  }
  void wait(StreamView stream, std::chrono::milliseconds timeout) override {
    host_->wait(stream, timeout);
  }
  void abort() noexcept override { host_->abort(); }

 private:
  /// Runs `call` on host copies of what is sent and received; either may be null.
  template <typename Call>
  void through(const void* send, void* recv, std::int64_t sent, std::int64_t received, DType dtype,
               StreamView stream, const Call& call) {
    if (stream.device().type == DeviceType::kCpu) return call(send, recv);
    const Device host{};
    if (send != nullptr) {
      const std::size_t bytes = static_cast<std::size_t>(sent) * size_of(dtype);
      copy_bytes(room(outgoing_, bytes), host, send, stream.device(), bytes, stream);
    }
    stream.synchronize();
    const std::size_t bytes = static_cast<std::size_t>(received) * size_of(dtype);
    if (recv != nullptr) room(incoming_, bytes);
    call(send == nullptr ? nullptr : outgoing_.data(),
         recv == nullptr ? nullptr : incoming_.data());
    if (recv == nullptr) return;
    copy_bytes(recv, stream.device(), incoming_.data(), host, bytes, stream);
    stream.synchronize();
  }
  static void* room(Buffer& buffer, std::size_t bytes) {
    if (buffer.size_bytes() < bytes) buffer = Buffer(bytes, pinned_resource());
    return buffer.data();
  }

  std::unique_ptr<Communicator> host_;
  Buffer outgoing_, incoming_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host) {
  return std::make_unique<StagedCommunicator>(std::move(host));
}

}  // namespace ditar
