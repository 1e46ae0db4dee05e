#include "exchange_timer.h"

#include "ditar/config/error.h"
#include "group_probe.h"
#include "rank_gpus.h"
#include "rank_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

namespace ditar {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

/// Passes everything on; from call `sound` on, one byte of what arrives is flipped.
class FaultyCommunicator : public Communicator {
 public:
  FaultyCommunicator(Communicator& inner, int sound) : inner_(inner), sound_(sound) {}
  int rank() const noexcept override { return inner_.rank(); }
  int size() const noexcept override { return inner_.size(); }
  std::string kind() const override { return "faulty"; }
  void all_reduce_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                      StreamView stream) override {
    inner_.all_reduce_sum(send, recv, count, dtype, stream);
    spoil(recv, count, dtype);
  }
  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    inner_.all_gather(send, recv, count, dtype, stream);
    spoil(recv, count, dtype);
  }
  void reduce_scatter_sum(const void* send, void* recv, std::int64_t count, DType dtype,
                          StreamView stream) override {
    inner_.reduce_scatter_sum(send, recv, count, dtype, stream);
    spoil(recv, count, dtype);
  }
  void all_to_all(const void* send, void* recv, std::int64_t count, DType dtype,
                  StreamView stream) override {
    inner_.all_to_all(send, recv, count, dtype, stream);
    spoil(recv, count, dtype);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 StreamView stream) override {
    inner_.broadcast(data, count, dtype, root, stream);
    spoil(data, count, dtype);
  }
  void send(const void* data, std::int64_t count, DType dtype, int peer,
            StreamView stream) override {
    inner_.send(data, count, dtype, peer, stream);
  }
  void recv(void* data, std::int64_t count, DType dtype, int peer, StreamView stream) override {
    inner_.recv(data, count, dtype, peer, stream);
    spoil(data, count, dtype);
  }
  void send_recv(const void* send, int to, void* recv, int from, std::int64_t count, DType dtype,
                 StreamView stream) override {
    inner_.send_recv(send, to, recv, from, count, dtype, stream);
    spoil(recv, count, dtype);
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    children_.push_back(inner_.split(color, key));
    return std::make_unique<FaultyCommunicator>(*children_.back(), sound_);
  }
  void wait(StreamView stream, std::chrono::milliseconds timeout) override {
    inner_.wait(stream, timeout);
  }
  void abort() noexcept override { inner_.abort(); }

 private:
  void spoil(void* data, std::int64_t count, DType dtype) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(size_of(dtype));
    // Small messages carry what the ranks agree on.
    if (bytes > 64 && --sound_ < 0) static_cast<unsigned char*>(data)[bytes / 2] ^= 0x40;
  }

  Communicator& inner_;
  int sound_;
  std::vector<std::unique_ptr<Communicator>> children_;
};

constexpr std::array kOps = {ExchangeOp::kAllReduce,     ExchangeOp::kAllGather,
                             ExchangeOp::kReduceScatter, ExchangeOp::kAllToAll,
                             ExchangeOp::kBroadcast,     ExchangeOp::kSendRecv};

TEST(ExchangeTimerTest, SoundExchangesAreRightInEveryType) {
  for (const int ranks : {1, 2, 3, 4}) {
    on_rank_threads(ranks, 20s, [](Communicator& world) {
      for (const ExchangeOp op : kOps) {
        for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
          const ExchangeTime time = time_exchange(world, op, 301, dtype, {}, 2, 5s);
          EXPECT_EQ(time.wrong, 0) << to_string(op) << " " << to_string(dtype);
          EXPECT_GT(time.seconds, 0.0);
        }
      }
      if (world.size() == 2) {
        EXPECT_EQ(time_exchange(world, ExchangeOp::kPingPong, 77, DType::kU8, {}, 2, 5s).wrong, 0);
      }
    });
  }
}

TEST(ExchangeTimerTest, OneFlippedByteIsFoundEvenIfOnlyLateCallsHaveIt) {
  for (const int sound : {0, 4}) {  // the second look has it too
    on_rank_threads(2, 20s, [&](Communicator& world) {
      for (const ExchangeOp op : kOps) {
        FaultyCommunicator faulty(world, sound);
        const auto wrong = time_exchange(faulty, op, 301, DType::kF32, {}, 4, 5s).wrong;
        EXPECT_GT(wrong, 0) << to_string(op);
      }
    });
  }
}

TEST(MeteredCommunicatorTest, CountsCallsAndRingBytes) {
  on_rank_threads(2, 20s, [](Communicator& world) {
    ExchangeLog log;
    const auto metered = make_metered_communicator(world, log);
    const auto half = metered->split(0, world.rank());
    std::vector<float> data(200, 1.0F);
    half->all_reduce_sum(data.data(), data.data(), 100, DType::kF32, {});
    half->all_gather(data.data() + 100, data.data(), 1, DType::kF32, {});
    metered->all_to_all(data.data() + 100, data.data(), 50, DType::kF32, {});
    metered->all_to_all(data.data() + 100, data.data(), 50, DType::kF32, {});
    if (world.rank() == 0) metered->send(data.data(), 10, DType::kF32, 1, {});
    if (world.rank() == 1) metered->recv(data.data(), 10, DType::kF32, 0, {});
    ASSERT_EQ(log.groups.size(), 2U);
    EXPECT_EQ(log.groups[1].parent, 0);
    EXPECT_EQ((log.calls[{1, ExchangeOp::kAllReduce, 100, DType::kF32}]), 1);
    EXPECT_EQ((log.calls[{0, ExchangeOp::kAllToAll, 50, DType::kF32}]), 2);
    const double sent = world.rank() == 0 ? 40.0 : 0.0;
    EXPECT_EQ(log.sent_bytes, 400.0 + 4.0 + 2 * 200.0 + sent);
  });
}

TEST(BusBandwidthTest, HasTheFactorsOfNcclTests) {
  EXPECT_EQ(size_of_exchange(ExchangeOp::kAllReduce, 4, 100, DType::kF32), 400);
  EXPECT_EQ(size_of_exchange(ExchangeOp::kAllGather, 4, 100, DType::kF32), 1600);
  EXPECT_EQ(bus_factor(ExchangeOp::kAllReduce, 4), 1.5);
  EXPECT_EQ(bus_factor(ExchangeOp::kAllGather, 4), 0.75);
  EXPECT_EQ(bus_factor(ExchangeOp::kReduceScatter, 4), 0.75);
  EXPECT_EQ(bus_factor(ExchangeOp::kAllToAll, 4), 0.75);
  EXPECT_EQ(bus_factor(ExchangeOp::kSendRecv, 4), 1.0);
}

GroupProbeOptions quick() {
  GroupProbeOptions options;
  options.sizes_bytes = {128, 4096, 65'536, 262'144};
  options.repeats = 3;
  options.deadline = 500ms;
  return options;
}

std::vector<int> gpus_of(const Communicator& world) {
  std::vector<int> gpus;
  for (int r = 0; r < world.size(); ++r) gpus.push_back(r);
  return gpus;
}

TopologyGraph ranks_on_one_host(int ranks) {
  return graph_of_ranks(std::vector<std::string>(static_cast<std::size_t>(ranks), "here"));
}

TEST(GroupProbeTest, MeasuresEveryPairAndCollective) {
  on_rank_threads(3, 20s, [](Communicator& world) {
    TopologyGraph graph = ranks_on_one_host(3);
    EXPECT_TRUE(probe_group(world, {}, gpus_of(world), graph, quick()));
    ASSERT_EQ(graph.links.size(), 3U);
    for (const Link& link : graph.links) {
      ASSERT_TRUE(link.cost);
      EXPECT_EQ(link.cost->origin, Origin::kMeasured);
      EXPECT_GT(link.cost->bandwidth_gb_per_s, 0.0);
    }
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                        Collective::kReduceScatter, Collective::kAllToAll}) {
      const CollectiveCost* const cost = graph.find_collective(collective, {0, 1, 2});
      ASSERT_NE(cost, nullptr) << to_string(collective);
      EXPECT_EQ(cost->cost.origin, Origin::kMeasured);
    }
    graph.validate();
  });
}

TEST(GroupProbeTest, APairThatCorruptsIsRefusedWithTheReason) {
  on_rank_threads(2, 20s, [](Communicator& world) {
    FaultyCommunicator faulty(world, 3);
    TopologyGraph graph = ranks_on_one_host(2);
    EXPECT_FALSE(probe_group(faulty, {}, gpus_of(world), graph, quick()));
    EXPECT_EQ(graph.links[0].a_to_b.probed, ProbeResult::kCorrupt);
    EXPECT_TRUE(graph.links[0].b_to_a.refused());
    EXPECT_THAT(graph.links[0].a_to_b.reason, HasSubstr("wrong bytes"));
    EXPECT_FALSE(graph.links[0].cost);
  });
}

TEST(GroupProbeTest, ARefusedPairTurnsPeerAccessOff) {
  TopologyGraph graph = ranks_on_one_host(3);
  ::unsetenv("NCCL_P2P_DISABLE");
  graph.find_link(0, 2)->b_to_a.probed = ProbeResult::kTimeout;
  keep_off_refused_peers(graph, {0, 1});
  EXPECT_EQ(std::getenv("NCCL_P2P_DISABLE"), nullptr);
  keep_off_refused_peers(graph, {0, 2});
  EXPECT_STREQ(std::getenv("NCCL_P2P_DISABLE"), "1");
  ::unsetenv("NCCL_P2P_DISABLE");
}

TEST(GroupProbeTest, APeerThatNeverArrivesIsNamedWithinSeconds) {
  const auto start = Clock::now();
  TopologyGraph graph = ranks_on_one_host(2);
  bool good = true;
  on_rank_threads(2, 500ms, [&](Communicator& world) {
    if (world.rank() == 1) return;
    good = probe_group(world, {}, gpus_of(world), graph, quick());
  });
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_FALSE(good);
  EXPECT_EQ(graph.links[0].b_to_a.probed, ProbeResult::kTimeout);
  EXPECT_TRUE(graph.links[0].b_to_a.refused());
  EXPECT_THAT(graph.links[0].b_to_a.reason, HasSubstr("rank 1"));
  EXPECT_THAT(graph.notes.back(), HasSubstr("the probe ended early"));
}

TEST(GroupProbeTest, NamesWhatDoesNotFit) {
  on_rank_threads(2, 20s, [](Communicator& world) {
    TopologyGraph graph = ranks_on_one_host(2);
    EXPECT_THROW(probe_group(world, {}, {0}, graph, quick()), InvalidArgument);
    graph.links.clear();
    EXPECT_THROW(probe_group(world, {}, {0, 1}, graph, quick()), InvalidArgument);
  });
}

}  // namespace
}  // namespace ditar
