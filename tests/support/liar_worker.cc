// Rank 0 of a group that lies in its hello: the first argument of the environment's DITAR_LIE says
// how. It speaks the wire without the harness, so that a wrong version or build can be tried.
#include "ditar/config/wire_codec.h"
#include "ditar/config/zmq_transport.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Gives a frame another protocol version, and a CRC that fits it.
void set_version(ditar::Frame& frame, std::uint16_t version) {
  auto bytes = frame.bytes();
  std::memcpy(bytes.data() + 4, &version, sizeof version);
  const auto view = std::span<const std::byte>(bytes);
  const std::uint32_t crc = ditar::crc32c(view.subspan(60), ditar::crc32c(view.first(56)));
  std::memcpy(bytes.data() + 56, &crc, sizeof crc);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 5 || variable("OMPI_COMM_WORLD_RANK") != "0") {
    std::this_thread::sleep_for(20s);
    return 0;
  }
  const std::string lie = variable("DITAR_LIE");
  const auto attempt = ditar::AttemptId::parse(argv[4]);
  auto transport = ditar::make_zmq_client(argv[2]);
  ditar::GroupHello hello;
  hello.nonce = lie == "nonce" ? "guessed" : variable("DITAR_NONCE");
  hello.build_hash = lie == "build" ? std::string(64, '0') : variable("DITAR_HASH");
  ditar::RankHello rank;
  rank.rank = 0;
  rank.size = 1;
  rank.device = lie == "device" ? "GPU-1234" : "cpu";
  rank.threads = lie == "threads" ? 8 : 1;
  hello.ranks = {rank};
  if (lie == "size") hello.ranks.push_back(rank);
  if (lie == "silent") std::this_thread::sleep_for(60s);
  const std::string meta = lie == "garbage" ? "{\"x\":" : ditar::encode_meta(hello);
  const auto type = lie == "early" ? ditar::MessageType::kResult : ditar::MessageType::kHello;
  auto frames = ditar::encode_frames(lie == "attempt" ? ditar::AttemptId::random() : attempt,
                                     {type, 0, meta, {}});
  if (lie == "newer") set_version(frames[0], ditar::kProtocolVersion + 1);
  if (lie == "older") set_version(frames[0], ditar::kProtocolVersion - 1);
  transport->send({}, std::move(frames[0]), 5s);
  while (auto packet = transport->receive(10s)) {
    ditar::MessageAssembler assembler(attempt);
    const auto message = assembler.feed(packet->frame.bytes());
    if (message && message->type == ditar::MessageType::kRefuse) {
      std::cerr << "refused: " << message->meta << std::endl;
      transport.reset();
      return 76;
    }
  }
  return 1;
}
