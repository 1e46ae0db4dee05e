#include "launched_session.h"

#include "ditar/config/log.h"
#include "ditar/config/sha256.h"
#include "ditar/config/wire_codec.h"
#include "ditar/config/zmq_transport.h"
#include "exit_notice.h"
#include "hello_check.h"
#include "launch_environment.h"
#include "launch_fence.h"
#include "mpirun_command.h"
#include "network_address.h"
#include "worker_traces.h"

#include <signal.h>

#include <algorithm>
#include <map>

namespace ditar {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSlice{200};
constexpr milliseconds kPingPeriod{1000};
constexpr milliseconds kSendPatience{5000};
constexpr milliseconds kLastWords{3000};
constexpr milliseconds kQueuePatience{100};

}  // namespace

std::unique_ptr<WorkerSession> WorkerSession::launch(const LaunchPlan& plan) {
  return std::make_unique<LaunchedSession>(plan);
}

LaunchedSession::LaunchedSession(const LaunchPlan& plan)
    : plan_(plan), attempt_(AttemptId::random()), assembler_(attempt_) {
  start();
  keeper_ = std::thread([this] { keep_alive(); });
}

LaunchedSession::~LaunchedSession() {
  {
    const std::lock_guard lock(keeper_mutex_);
    keeper_stop_ = true;
  }
  keeper_wake_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

void LaunchedSession::start() {
  check_plan(plan_);
  const MpirunVersion version = find_mpirun(plan_);
  const std::string build_hash =
      plan_.expected_build_hash.empty() ? sha256_file(plan_.worker) : plan_.expected_build_hash;
  LaunchSecrets secrets;
  secrets.attempt = attempt_.hex();
  secrets.nonce = AttemptId::random().hex();
  secrets.temporary = temporary_.path().string();
  if (is_one_host(plan_)) {
    transport_ = make_zmq_server("ipc://" + secrets.temporary + "/c");
  } else {
    const CurveKeys keys = make_curve_keys();
    secrets.curve = keys.server_public + " " + keys.client_public + " " + keys.client_secret;
    transport_ = make_zmq_server("tcp://" + address_of(plan_.network_interface) + ":*", keys);
  }
  if (is_one_host(plan_)) {
    std::filesystem::create_directory(temporary_.path() / "home");
    plan_.environment["HOME"] = (temporary_.path() / "home").string();
    plan_.environment["CUDA_CACHE_PATH"] = (temporary_.path() / "home/cuda").string();
    const auto fence = launch_fence(plan_, version.path, temporary_.path());
    plan_.wrapper.insert(plan_.wrapper.begin(), fence.begin(), fence.end());
  }
  const auto variables = launch_environment(plan_, secrets);
  std::vector<std::string> names;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    if (name != "TMPDIR") names.push_back(name);
    environment.push_back(name + "=" + value);
  }
  const auto argv = mpirun_command(plan_, version, names, transport_->endpoint(), secrets.attempt);
  group_ = std::make_unique<LaunchedGroup>(
      argv, environment, std::string(kTagVariable) + "=" + secrets.attempt,
      plan_.run_directory / "launcher.log", plan_.log_cap_bytes);
  greet(secrets.nonce, build_hash);
}

void LaunchedSession::greet(const std::string& nonce, const std::string& build_hash) {
  const InMessage message =
      await({MessageType::kHello, 0, WorkerPhase::kHello, plan_.deadlines.hello, milliseconds(0)});
  GroupHello hello;
  try {
    hello = decode_meta<GroupHello>(message.meta);
  } catch (const FrameError& error) {
    refuse(error.message());
  }
  const std::string objection = hello_objection(hello, plan_, nonce, build_hash);
  if (!objection.empty()) refuse(objection);
  ranks_ = hello.ranks;
  if (plan_.wrapper.empty()) return accept();
  // Behind a fence ranks know only their own numbers of processes.
  std::map<std::int64_t, pid_t> outer;
  for (const pid_t pid : group_->pids()) outer[inner_pid(pid)] = pid;
  for (RankHello& rank : ranks_) {
    const auto found = outer.find(rank.pid);
    rank.pid = found == outer.end() ? -1 : found->second;
  }
  accept();
}

void LaunchedSession::accept() { send(MessageType::kAccept, 0, {}, WorkerPhase::kHello); }

void LaunchedSession::refuse(const std::string& objection) {
  send(MessageType::kRefuse, 0,
       encode_meta(FailureReport{"refused", objection, -1, to_int(ExitCode::kProtocol)}),
       WorkerPhase::kHello);
  (void)group_->wait_exit(kLastWords);
  fail(WorkerPhase::kHello, WorkerFailureKind::kRefused, "refused the worker group: " + objection);
}

LoadResult LaunchedSession::load(const LoadRequest& request) {
  require_open();
  const std::lock_guard lock(mutex_);
  const std::uint64_t seq = next_seq_++;
  const auto start = Clock::now();
  send(MessageType::kLoad, seq, encode_meta(request), WorkerPhase::kLoad);
  const InMessage message =
      await({MessageType::kLoaded, seq, WorkerPhase::kLoad, plan_.deadlines.load, milliseconds(0)});
  LoadResult result;
  try {
    LoadedMeta meta = decode_meta<LoadedMeta>(message.meta);
    result.model = std::move(meta.model);
    result.ranks = std::move(meta.ranks);
  } catch (const FrameError& error) {
    fail(WorkerPhase::kLoad, WorkerFailureKind::kProtocol, error.message());
  }
  result.elapsed_ns = std::chrono::nanoseconds(arrived_ - start).count();
  send(MessageType::kAck, seq, {}, WorkerPhase::kLoad);
  return result;
}

RunResult LaunchedSession::run(const RunRequest& request) {
  check_request(request);
  require_open();
  const std::lock_guard lock(mutex_);
  const std::uint64_t seq = next_seq_++;
  const std::string meta = encode_meta(request);
  Clock::time_point start;
  deliver({MessageType::kRun, seq, meta, request.latents}, WorkerPhase::kRun,
          [&] { start = Clock::now(); });
  InMessage message = await({MessageType::kResult, seq, WorkerPhase::kRun, plan_.deadlines.run,
                             plan_.deadlines.progress});
  RunResult result;
  result.elapsed_ns = std::chrono::nanoseconds(arrived_ - start).count();
  try {
    ResultMeta reply = decode_meta<ResultMeta>(message.meta);
    if (reply.nonce != request.nonce) {
      fail(WorkerPhase::kRun, WorkerFailureKind::kProtocol,
           "a result gives another request's nonce back");
    }
    result.ranks = std::move(reply.ranks);
  } catch (const FrameError& error) {
    fail(WorkerPhase::kRun, WorkerFailureKind::kProtocol, error.message());
  }
  if (message.bulk.size() != request.latents.size()) {
    fail(WorkerPhase::kRun, WorkerFailureKind::kProtocol,
         "a result has " + std::to_string(message.bulk.size()) + " latents, the request " +
             std::to_string(request.latents.size()));
  }
  result.latents = std::move(message.bulk);
  send(MessageType::kAck, seq, {}, WorkerPhase::kRun);
  return result;
}

void LaunchedSession::stop() {
  if (over_) return;
  const std::lock_guard lock(mutex_);
  const std::uint64_t seq = next_seq_++;
  send(MessageType::kStop, seq, {}, WorkerPhase::kStop);
  const auto status = group_->wait_exit(plan_.deadlines.stop);
  if (!status) {
    fail(WorkerPhase::kStop, WorkerFailureKind::kHang,
         "the group did not end within " + std::to_string(plan_.deadlines.stop.count()) + " ms");
  }
  if (status->exit_code != 0) {
    fail(WorkerPhase::kStop, WorkerFailureKind::kCrash, "the group did not end cleanly");
  }
  over_ = true;
  group_->end(milliseconds(0));
}

std::vector<pid_t> LaunchedSession::pids() const { return group_->pids(); }

WorkerTraces LaunchedSession::traces() const {
  WorkerTraces traces;
  traces.files = files_left(temporary_.path() / "home");
  std::vector<pid_t> ranks;
  for (const RankHello& rank : ranks_) ranks.push_back(static_cast<pid_t>(rank.pid));
  traces.processes = processes_beyond(ranks, group_->pids());
  traces.printed = imitated_figure(group_->log().recent());
  return traces;
}

InMessage LaunchedSession::await(const Wanted& wanted) {
  const auto start = Clock::now();
  last_progress_ = start;
  bool asked_again = false;
  while (true) {
    try {
      if (auto message = take(wanted, kSlice)) return std::move(*message);
    } catch (const FrameError& error) {
      if (wanted.phase == WorkerPhase::kHello) refuse(error.message());
      if (asked_again) fail(wanted.phase, WorkerFailureKind::kProtocol, error.message());
      log_warning("a worker's answer is damaged and is asked for again: " + error.message());
      asked_again = true;
      send(MessageType::kResend, wanted.seq, {}, wanted.phase);
    }
    check_launcher(wanted, "the worker's " + std::string(to_string(wanted.type)));
    check_clocks(wanted, start);
  }
}

std::optional<InMessage> LaunchedSession::take(const Wanted& wanted, milliseconds timeout) {
  auto packet = transport_->receive(timeout);
  if (!packet) return std::nullopt;
  const auto now = Clock::now();
  if (peer_.empty() && wanted.type == MessageType::kHello) peer_ = packet->peer;
  if (packet->peer != peer_) {
    log_warning("a frame from a stranger on the session's socket is dropped");
    return std::nullopt;
  }
  auto message = assembler_.feed(packet->frame.bytes());
  if (!message) {
    last_progress_ = now;
    return std::nullopt;
  }
  arrived_ = now;
  if (message->type == MessageType::kProgress) {
    note_progress(*message);
    return std::nullopt;
  }
  if (message->type == MessageType::kFailure) fail_reported(wanted.phase, *message);
  if (message->type == wanted.type && message->seq == wanted.seq) return message;
  if (message->seq < wanted.seq || message->type == MessageType::kHello) {
    log_warning("a late or repeated " + std::string(to_string(message->type)) + " is dropped");
    return std::nullopt;
  }
  fail(wanted.phase, WorkerFailureKind::kProtocol,
       "the worker sends " + std::string(to_string(message->type)) + " number " +
           std::to_string(message->seq) + " where " + std::string(to_string(wanted.type)) +
           " number " + std::to_string(wanted.seq) + " is due");
}

void LaunchedSession::note_progress(const InMessage& message) {
  const auto report = decode_meta<ProgressReport>(message.meta);
  if (report.steps.size() != steps_.size() ||
      !std::equal(steps_.begin(), steps_.end(), report.steps.begin())) {
    steps_ = report.steps;
    last_progress_ = Clock::now();
  }
}

void LaunchedSession::check_clocks(const Wanted& wanted, Clock::time_point start) {
  if (plan_.cancel != nullptr && plan_.cancel->load()) {
    fail(wanted.phase, WorkerFailureKind::kCancelled, "the caller asked to stop");
  }
  const auto now = Clock::now();
  const bool stalled = wanted.progress.count() > 0 && now - last_progress_ > wanted.progress;
  if (now - start > wanted.total || stalled) {
    // The rank with the fewest steps is the one the others wait for.
    int rank = -1;
    if (!steps_.empty()) {
      const auto least = std::min_element(steps_.begin(), steps_.end());
      const auto most = std::max_element(steps_.begin(), steps_.end());
      if (steps_.size() == 1 || *least != *most) rank = static_cast<int>(least - steps_.begin());
    }
    const auto limit = stalled ? wanted.progress : wanted.total;
    fail(wanted.phase, WorkerFailureKind::kHang,
         "no " + std::string(stalled ? "finished step" : to_string(wanted.type)) + " within " +
             std::to_string(limit.count()) + " ms",
         rank);
  }
  if (!peer_.empty() && now - last_ping_ > kPingPeriod) {
    last_ping_ = now;
    send(MessageType::kPing, 0, {}, wanted.phase);
  }
}

void LaunchedSession::check_launcher(const Wanted& wanted, const std::string& before) {
  const auto status = group_->poll_exit();
  if (!status) return;
  const auto until = Clock::now() + kQueuePatience;
  while (Clock::now() < until) {  // what the worker said before it ended
    try {
      if (take(wanted, milliseconds(10))) break;
    } catch (const FrameError&) {
      break;
    }
  }
  const bool machine =
      wanted.phase == WorkerPhase::kHello && !read_exit_notice(group_->log().recent()).found();
  fail(wanted.phase, machine ? WorkerFailureKind::kLaunch : WorkerFailureKind::kCrash,
       "mpirun ended before " + before);
}

void LaunchedSession::send(MessageType type, std::uint64_t seq, const std::string& meta,
                           WorkerPhase phase) {
  deliver({type, seq, meta, {}}, phase, [] {});
}

void LaunchedSession::deliver(const OutMessage& message, WorkerPhase phase,
                              const std::function<void()>& last_out) {
  try {
    send_message(*transport_, peer_, attempt_, message, kSendPatience, last_out);
  } catch (const Error& error) {
    // The launcher's end says more than a closed connection does; it comes within moments.
    (void)group_->wait_exit(kLastWords);
    check_launcher({message.type, message.seq, phase, {}, {}},
                   "it took " + std::string(to_string(message.type)));
    fail(phase, WorkerFailureKind::kProtocol, error.message());
  }
}

void LaunchedSession::require_open() const {
  require(!over_, "this worker session is over; launch a new one");
}

void LaunchedSession::fail_reported(WorkerPhase phase, const InMessage& message) {
  FailureReport report;
  try {
    report = decode_meta<FailureReport>(message.meta);
  } catch (const FrameError& error) {
    fail(phase, WorkerFailureKind::kProtocol, error.message());
  }
  (void)group_->wait_exit(kLastWords);
  if (report.kind == "gone") {
    // mpirun knows of a signal; an exit it may blame on the rank that reported.
    const ExitNotice notice = read_exit_notice(group_->log().recent());
    fail(phase, WorkerFailureKind::kCrash, report.message,
         notice.signal > 0 ? notice.rank : report.rank);
  }
  if (report.kind == "stalled") fail(phase, WorkerFailureKind::kHang, report.message, report.rank);
  const auto kind =
      report.kind == "protocol" ? WorkerFailureKind::kProtocol : WorkerFailureKind::kError;
  fail(phase, kind, report.message, report.rank);
}

void LaunchedSession::fail(WorkerPhase phase, WorkerFailureKind kind, const std::string& message,
                           int rank) {
  over_ = true;
  if (kind == WorkerFailureKind::kHang) {
    group_->signal_ranks(SIGUSR1);  // a stack dump for the log, from those that still can
    (void)group_->wait_exit(milliseconds(200));
  }
  const auto status = group_->poll_exit();
  group_->end(plan_.deadlines.stop);
  WorkerFailureFacts facts{phase, kind, rank, -1, status ? status->exit_code : -1, {}};
  facts.log_tail = group_->log().tail();
  if (status && kind != WorkerFailureKind::kHang) {
    const ExitNotice notice = read_exit_notice(group_->log().recent());
    if (rank < 0) facts.rank = notice.rank;
    facts.signal = notice.signal > 0 ? notice.signal : status->signal;
  }
  std::string text = "workers, " + std::string(to_string(phase)) + ": " + message;
  if (facts.rank >= 0) text += "; rank " + std::to_string(facts.rank);
  if (facts.signal > 0) text += "; signal " + std::to_string(facts.signal);
  if (facts.exit_code >= 0) text += "; mpirun ended with " + std::to_string(facts.exit_code);
  throw WorkerFailure(text + " (log: " + (plan_.run_directory / "launcher.log").string() + ")",
                      std::move(facts));
}

void LaunchedSession::keep_alive() {
  std::unique_lock stop_lock(keeper_mutex_);
  while (!keeper_wake_.wait_for(stop_lock, kPingPeriod, [&] { return keeper_stop_; })) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || over_) continue;  // a call in progress sends its own
    try {
      send_message(*transport_, peer_, attempt_, {}, milliseconds(0));
    } catch (const Error&) {  // the next call finds out why
    }
  }
}

}  // namespace ditar
