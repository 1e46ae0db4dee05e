// Collectives between the ranks of one group. Kinds: NcclCommunicator (CUDA), MpiCommunicator
// (host memory), InProcessCommunicator (threads, host memory). Counts are elements, never bytes.
// One communicator belongs to one rank; every rank of the group makes the same calls in the same
// order. Memory is that of the stream's device. Host kinds finish before they return; the CUDA kind
// enqueues on `stream`.
#pragma once

#include "ditar/kernels/dtype.h"
#include "ditar/kernels/stream.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace ditar {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual std::string kind() const = 0;

  /// Sum over ranks in rank order (fixed order: the same bits on every rank and every run).
  /// In place if send == recv. @throws InvalidArgument for integer kinds other than kI32, kI64.
  virtual void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                              StreamView stream) = 0;
  /// recv holds size() * count elements, rank r's at r * count.
  virtual void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) = 0;
  /// send holds size() * count elements; rank r gets the sum of block r.
  virtual void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                                  StreamView stream) = 0;
  /// send and recv hold size() blocks of count elements; block r goes to rank r.
  virtual void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) = 0;
  virtual void broadcast(void* data, std::int64_t count, DType dtype, int root,
                         StreamView stream) = 0;
  virtual void send(const void* data, std::int64_t count, DType dtype, int peer,
                    StreamView stream) = 0;
  virtual void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) = 0;
  /// Sends to `to` and receives as much from `from` at once, so that a ring of ranks cannot block.
  /// The buffers must not overlap.
  virtual void send_recv(const void* send, int to, void* recv, int from, std::int64_t count,
                         DType dtype, StreamView stream) = 0;
  /// True if calls on a CUDA stream return at once and may be captured into a graph.
  virtual bool enqueues() const noexcept { return false; }
  /// Ranks that give the same `color` form a group, ordered by `key` then rank. Collective.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// Blocks until everything enqueued on `stream` is done. @throws TimeoutError naming the rank
  /// and the last collective if that takes longer than `timeout`; the communicator is then aborted.
  virtual void wait(StreamView stream, std::chrono::milliseconds timeout) = 0;
  /// Makes every pending and later call of this rank fail at once, in the groups split from this
  /// one too; safe from another thread.
  virtual void abort() noexcept = 0;
};

}  // namespace ditar
