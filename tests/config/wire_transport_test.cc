#include "ditar/config/transport.h"
#include "ditar/config/zmq_transport.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace ditar {
namespace {

using namespace std::chrono_literals;

struct Ends {
  std::shared_ptr<void> keep;
  std::unique_ptr<Transport> server, client;
};

Ends in_memory_ends() {
  auto hub = std::make_shared<InMemoryHub>();
  auto server = hub->make_server();
  auto client = hub->make_client("w");
  return {hub, std::move(server), std::move(client)};
}

struct Directory {
  Directory() {
    char name[] = "/tmp/dwtXXXXXX";
    path = ::mkdtemp(name);
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

Ends ipc_ends() {
  auto directory = std::make_shared<Directory>();
  auto server = make_zmq_server("ipc://" + directory->path + "/s");
  auto client = make_zmq_client(server->endpoint());
  return {directory, std::move(server), std::move(client)};
}

Ends tcp_ends() {
  auto server = make_zmq_server("tcp://127.0.0.1:*");
  auto client = make_zmq_client(server->endpoint());
  return {nullptr, std::move(server), std::move(client)};
}

Ends curve_ends() {
  const auto keys = make_curve_keys();
  auto server = make_zmq_server("tcp://127.0.0.1:*", keys);
  CurveKeys client_keys{keys.server_public, "", keys.client_public, keys.client_secret};
  auto client = make_zmq_client(server->endpoint(), client_keys);
  return {nullptr, std::move(server), std::move(client)};
}

class TransportTest : public testing::TestWithParam<std::pair<const char*, Ends (*)()>> {};

InMessage receive_whole(Transport& end, const AttemptId& id, PeerId* peer = nullptr) {
  MessageAssembler assembler(id);
  for (int i = 0; i < 100; ++i) {
    auto packet = end.receive(5s);
    if (!packet) break;
    if (peer) *peer = packet->peer;
    if (auto message = assembler.feed(packet->frame.bytes())) return std::move(*message);
  }
  ADD_FAILURE() << "no message came";
  return {};
}

TEST_P(TransportTest, EchoesMessagesOfManySizes) {
  auto ends = GetParam().second();
  const auto id = AttemptId::random();
  std::jthread worker([&] {
    send_message(*ends.client, {}, id, {MessageType::kHello, 0, "{}", {}}, 5s);
    for (int i = 0; i < 4; ++i) {
      const auto message = receive_whole(*ends.client, id);
      send_message(*ends.client, {}, id,
                   {MessageType::kResult, message.seq, message.meta, message.bulk}, 5s);
    }
  });
  PeerId peer;
  EXPECT_EQ(receive_whole(*ends.server, id, &peer).type, MessageType::kHello);
  std::uint64_t seq = 1;
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{784}, std::size_t{262'144}, std::size_t{1'500'000}}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    send_message(*ends.server, peer, id, {MessageType::kRun, seq, "{}", values}, 5s);
    const auto back = receive_whole(*ends.server, id);
    EXPECT_EQ(back.seq, seq++);
    EXPECT_EQ(back.bulk, values);
  }
}

TEST_P(TransportTest, ReceiveGivesNothingAfterTheTimeout) {
  auto ends = GetParam().second();
  EXPECT_FALSE(ends.server->receive(20ms).has_value());
  EXPECT_FALSE(ends.client->receive(0ms).has_value());
}

TEST_P(TransportTest, RefusesAPeerThatNeverCame) {
  auto ends = GetParam().second();
  EXPECT_THROW(send_message(*ends.server, "nobody", AttemptId::random(), {}, 100ms),
               TransportError);
}

TEST_P(TransportTest, RefusesAPeerThatHasGone) {
  auto ends = GetParam().second();
  const auto id = AttemptId::random();
  send_message(*ends.client, {}, id, {MessageType::kHello, 0, "{}", {}}, 5s);
  PeerId peer;
  (void)receive_whole(*ends.server, id, &peer);
  ends.client.reset();
  const auto until = std::chrono::steady_clock::now() + 5s;
  bool refused = false;
  while (!refused && std::chrono::steady_clock::now() < until) {
    try {
      send_message(*ends.server, peer, id, {}, 10ms);
      std::this_thread::sleep_for(5ms);
    } catch (const Error&) {
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransportTest,
                         testing::Values(std::pair{"memory", &in_memory_ends},
                                         std::pair{"ipc", &ipc_ends}, std::pair{"tcp", &tcp_ends},
                                         std::pair{"curve", &curve_ends}),
                         [](const auto& kind) { return std::string(kind.param.first); });

TEST(ZmqTransportTest, BoundsTheQueueOfASlowPeer) {
  auto ends = tcp_ends();
  const auto id = AttemptId::random();
  send_message(*ends.client, {}, id, {MessageType::kHello, 0, "{}", {}}, 5s);
  PeerId peer;
  (void)receive_whole(*ends.server, id, &peer);
  const std::vector<float> values(200'000);
  bool full = false;
  for (int i = 0; i < 500 && !full; ++i) {
    try {
      send_message(*ends.server, peer, id, {MessageType::kRun, 1, "{}", values}, 50ms);
    } catch (const TimeoutError&) {
      full = true;
    }
  }
  EXPECT_TRUE(full) << "500 requests of 800 kB were queued for a peer that reads none";
}

TEST(ZmqTransportTest, LetsNoStrangerThroughTheAllowList) {
  const auto keys = make_curve_keys();
  const auto others = make_curve_keys();
  auto server = make_zmq_server("tcp://127.0.0.1:*", keys);
  const CurveKeys stranger{keys.server_public, "", others.client_public, others.client_secret};
  const CurveKeys misled{others.server_public, "", keys.client_public, keys.client_secret};
  for (const auto& wrong : {stranger, misled, CurveKeys{}}) {
    auto client = make_zmq_client(server->endpoint(), wrong);
    EXPECT_THROW(send_message(*client, {}, AttemptId::random(), {}, 300ms), TimeoutError);
  }
  EXPECT_FALSE(server->receive(100ms).has_value());
}

TEST(ZmqTransportTest, RefusesOpenEndpointsWithoutKeysAndLongPaths) {
  EXPECT_THROW(make_zmq_server("tcp://0.0.0.0:*"), InvalidArgument);
  EXPECT_THROW(make_zmq_server("ipc:///tmp/" + std::string(120, 'x')), InvalidArgument);
  EXPECT_THROW(make_zmq_server("udp://127.0.0.1:1"), InvalidArgument);
  EXPECT_THROW(make_zmq_server("ipc:///nonexistent-directory/s"), TransportError);
}

TEST(ZmqTransportTest, DropsAPeerThatSendsMoreThanOneMebibyteAtOnce) {
  auto ends = tcp_ends();
  ends.client->send({}, Frame(kMaxFrameBytes + 1), 5s);
  EXPECT_FALSE(ends.server->receive(300ms).has_value());
}

}  // namespace
}  // namespace ditar
