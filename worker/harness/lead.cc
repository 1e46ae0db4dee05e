#include "coordinator_link.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "ditar/config/sha256.h"
#include "ditar/config/zmq_transport.h"
#include "group_watch.h"
#include "heartbeat.h"
#include "rank_context.h"

#include <cstdlib>

namespace ditar {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kGroupPatience = std::chrono::hours(1);  // the coordinator's deadline rules

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// "server_public client_public client_secret", or nothing on one host.
CurveKeys keys_from_environment() {
  CurveKeys keys;
  const std::string text = variable("DITAR_CURVE");
  if (text.empty()) return keys;
  require(text.size() == 122, "DITAR_CURVE does not hold three keys of 40 characters");
  keys.server_public = text.substr(0, 40);
  keys.client_public = text.substr(41, 40);
  keys.client_secret = text.substr(82, 40);
  return keys;
}

milliseconds lease_from_environment() {
  const std::string text = variable("DITAR_LEASE_MS");
  return milliseconds(text.empty() ? 10'000 : std::max(100L, std::atol(text.c_str())));
}

class Lead {
 public:
  explicit Lead(RankContext& context)
      : context_(context),
        link_(make_zmq_client(context.endpoint, keys_from_environment()), context.attempt,
              lease_from_environment()),
        watch_(context.links),
        heartbeat_([this] { beat(); },
                   context.links.hub ? context.links.hub->fds() : std::vector<int>{}) {}

  int serve() {
    try {
      greet();
      while (answer(link_.wait())) {
      }
      return to_int(ExitCode::kOk);
    } catch (const RankFailed& error) {
      give_up(error, error.rank());
    } catch (const RankGone& error) {
      give_up(error, error.rank());
    } catch (const Error& error) {
      give_up(error, 0);
    } catch (const std::exception& error) {
      give_up(Error(error.what()), 0);
    }
  }

 private:
  void greet() {
    GroupHello hello;
    hello.nonce = variable("DITAR_NONCE");
    hello.build_hash = sha256_file("/proc/self/exe");
    hello.launcher = MpiRuntime::library();
    hello.ranks = context_.hellos;
    link_.send(MessageType::kHello, 0, encode_meta(hello));
    const InMessage answer = link_.wait();
    if (answer.type == MessageType::kAccept) return;
    if (answer.type == MessageType::kRefuse) {
      const auto report = decode_meta<FailureReport>(answer.meta);
      leave_now("refused by the coordinator: " + report.message, report.exit_code);
    }
    throw TransportError("the coordinator answers a hello with " +
                         std::string(to_string(answer.type)));
  }

  /// False when it is time to end.
  bool answer(InMessage message) {
    switch (message.type) {
      case MessageType::kLoad:
        load(message);
        return true;
      case MessageType::kRun:
        run(message);
        return true;
      case MessageType::kResend:
        link_.resend(message.seq);
        return true;
      case MessageType::kAck:
        link_.forget(message.seq);
        return true;
      case MessageType::kStop:
        tell_others({MessageType::kStop, message.seq, {}, {}});
        link_.send(MessageType::kBye, message.seq, {});
        link_.close();
        return false;
      default:
        throw TransportError("the coordinator sends " + std::string(to_string(message.type)) +
                             ", which is not for a worker");
    }
  }

  void load(const InMessage& message) {
    const Heartbeat::Work work(heartbeat_);
    phase_ = "load";
    tell_others({MessageType::kLoad, message.seq, message.meta, {}});
    LoadedMeta meta;
    meta.model = context_.runner->load(decode_meta<LoadRequest>(message.meta));
    meta.ranks = reports(MessageType::kLoaded);
    link_.send_kept(MessageType::kLoaded, message.seq, encode_meta(meta), {});
  }

  void run(InMessage& message) {
    const Heartbeat::Work work(heartbeat_);
    phase_ = "run";
    RunRequest request = decode_meta<RunRequest>(message.meta);
    request.latents = std::move(message.bulk);
    check_request(request);
    tell_others({MessageType::kRun, message.seq, message.meta, {}});
    std::vector<float> latents;
    context_.runner->run(request, latents);
    ResultMeta meta{request.nonce, reports(MessageType::kResult)};
    link_.send_kept(MessageType::kResult, message.seq, encode_meta(meta), std::move(latents));
  }

  void tell_others(const OutMessage& message) {
    if (context_.links.hub) context_.links.hub->send_all(message);
  }

  /// Own report and everybody else's: a request is over when all ranks are done with it.
  std::vector<RankReport> reports(MessageType type) {
    std::vector<RankReport> all = {context_.runner->report()};
    if (!context_.links.hub) return all;
    for (const InMessage& message : context_.links.hub->collect(type, kGroupPatience)) {
      all.push_back(decode_meta<RankReport>(message.meta));
    }
    return all;
  }

  /// On the heartbeat's thread, while the main one is in the engine.
  void beat() noexcept {
    try {
      ProgressReport progress{phase_.load(), {context_.runner->steps().load()}};
      if (context_.links.hub) {
        watch_.look();
        context_.links.hub->tell_pulse(*context_.links.page);
        for (const std::uint64_t steps : context_.links.hub->steps()) {
          progress.steps.push_back(steps);
        }
      }
      link_.beat(progress);
      if (link_.lease_is_over()) leave_now("the coordinator is silent", 75);
    } catch (const RankFailed& error) {
      give_up(error, error.rank());
    } catch (const RankGone& error) {
      give_up(error, error.rank());
    } catch (const RankStalled& error) {
      give_up(error, error.rank());
    } catch (const Error& error) {
      give_up(error, 0);
    } catch (const std::exception& error) {
      leave_now(error.what(), 1);
    }
  }

  static std::string kind_of(const Error& error) {
    if (dynamic_cast<const TransportError*>(&error) != nullptr) return "protocol";
    if (dynamic_cast<const RankStalled*>(&error) != nullptr) return "stalled";
    return dynamic_cast<const RankGone*>(&error) != nullptr ? "gone" : "error";
  }

  [[noreturn]] void give_up(const Error& error, int rank) noexcept {
    const int code = to_int(error.exit_code());
    try {
      const FailureReport report{kind_of(error), error.message(), rank, code};
      link_.send(MessageType::kFailure, 0, encode_meta(report));
      link_.close();
    } catch (const std::exception&) {  // the coordinator is gone; the exit code remains
    }
    leave_group(context_.communicator.get(), error.message(), code);
  }

  RankContext& context_;
  CoordinatorLink link_;
  std::atomic<const char*> phase_ = "idle";
  GroupWatch watch_;
  Heartbeat heartbeat_;
};

}  // namespace

int lead(RankContext& context) { return Lead(context).serve(); }

}  // namespace ditar
