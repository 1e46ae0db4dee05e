#include "ditar/config/error.h"
#include "group_watch.h"
#include "heartbeat.h"
#include "rank_context.h"

namespace ditar {

namespace {

class Follower {
 public:
  explicit Follower(RankContext& context)
      : context_(context),
        spoke_(*context.links.spoke),
        watch_(context.links),
        heartbeat_([this] { beat(); }, {context.links.spoke->fd()}) {}

  int serve() {
    try {
      while (answer(spoke_.wait())) {
      }
      return to_int(ExitCode::kOk);
    } catch (const RankGone& error) {
      leave_now(error.message(), to_int(ExitCode::kTemporary));
    } catch (const Error& error) {
      give_up(error.message(), to_int(error.exit_code()));
    } catch (const std::exception& error) {
      give_up(error.what(), to_int(ExitCode::kFailure));
    }
  }

 private:
  bool answer(const InMessage& message) {
    if (message.type == MessageType::kStop) return false;
    const Heartbeat::Work work(heartbeat_);
    if (message.type == MessageType::kLoad) {
      (void)context_.runner->load(decode_meta<LoadRequest>(message.meta));
      send_report(MessageType::kLoaded, message.seq);
    } else if (message.type == MessageType::kRun) {
      std::vector<float> none;
      context_.runner->run(decode_meta<RunRequest>(message.meta), none);
      send_report(MessageType::kResult, message.seq);
    } else {
      throw TransportError("rank 0 sends " + std::string(to_string(message.type)));
    }
    return true;
  }

  void send_report(MessageType type, std::uint64_t seq) {
    const std::string meta = encode_meta(context_.runner->report());
    spoke_.send({type, seq, meta, {}});
  }

  void beat() noexcept {
    try {
      if (spoke_.lead_is_gone()) {
        leave_group(context_.communicator.get(), "rank 0 is gone", to_int(ExitCode::kTemporary));
      }
      watch_.look();
      const std::string meta =
          encode_progress(context_.runner->steps().load(), *context_.links.page);
      spoke_.send({MessageType::kProgress, 0, meta, {}});
    } catch (const RankStalled& error) {
      watch_.kill(error.rank());
      leave_group(context_.communicator.get(), error.message(), to_int(ExitCode::kTemporary));
    } catch (const std::exception& error) {
      leave_group(context_.communicator.get(), error.what(), to_int(ExitCode::kTemporary));
    }
  }

  /// Tells rank 0, gives it time to tell the coordinator, and ends.
  [[noreturn]] void give_up(const std::string& why, int exit_code) {
    try {
      const std::string meta =
          encode_meta(FailureReport{"error", why, context_.bootstrap->rank(), exit_code});
      spoke_.send({MessageType::kFailure, 0, meta, {}});
      for (int i = 0; i < 30 && !spoke_.lead_is_gone(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    } catch (const std::exception&) {  // rank 0 is gone; the exit code remains
    }
    leave_now(why, exit_code);
  }

  RankContext& context_;
  RankSpoke& spoke_;
  GroupWatch watch_;
  Heartbeat heartbeat_;
};

}  // namespace

int follow(RankContext& context) { return Follower(context).serve(); }

}  // namespace ditar
