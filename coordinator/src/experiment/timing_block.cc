#include "ditar/coordinator/timing_block.h"

#include "ditar/coordinator/interrupt.h"
#include "experiment/idle_watch.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace ditar {
namespace {

constexpr std::uint32_t kCoinStream = 11;
constexpr std::uint32_t kSecretStream = 12;
constexpr std::uint32_t kLaunchOrderStream = 13;
constexpr std::uint32_t kNonceStream = 14;
constexpr std::uint32_t kShapeStream = 15;
constexpr std::uint32_t kGapStream = 16;
constexpr std::uint64_t kMostGapMicroseconds = 10'000;
constexpr std::uint64_t kInputsPerBlock = 1U << 20;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class BlockRun {
 public:
  BlockRun(WorkerLauncher& launcher, const Arm& a, const Arm& b, const Task& task,
           const BlockPlan& plan, std::string& failed_arm)
      : launcher_(launcher), a_(a), b_(b), task_(task), plan_(plan), failed_arm_(failed_arm) {}

  BlockResult run() {
    start_both();
    run_hidden();
    for (int i = 0; i < plan_.warmups; ++i) warm_up();
    run_quads();
    result_.traces_b = session_b_.session->traces();
    result_.idle_fault = idle_b_.fault();
    result_.idle_busy_ns = idle_b_.busy_ns();
    failed_arm_ = a_.name;
    session_a_.session->stop();
    failed_arm_ = b_.name;
    session_b_.session->stop();
    failed_arm_.clear();
    return std::move(result_);
  }

 private:
  void start_both() {
    if (plan_.cost != nullptr) plan_.cost->begin_block();
    const bool b_first = (drawn_bits(plan_.seed, kLaunchOrderStream, plan_.number) & 1U) != 0;
    for (const bool is_b : {b_first, !b_first}) {
      const Arm& arm = is_b ? b_ : a_;
      failed_arm_ = arm.name;
      StartOptions options;
      options.log_directory = plan_.log_directory / arm.name;
      (is_b ? session_b_ : session_a_) = launcher_.start(arm, options);
      if (plan_.cost != nullptr) plan_.cost->after_start(is_b);
    }
    result_.load_ns_a = session_a_.load.elapsed_ns;
    result_.load_ns_b = session_b_.load.elapsed_ns;
  }

  void warm_up() {
    const std::uint64_t input = next_input_++;
    RunResult of_a = time_arm(false, input);
    RunResult of_b = time_arm(true, input);
    compare(of_a, of_b, false, input);
  }

  /// One request of a shape that nothing announced, to both arms; its outputs are compared too.
  void run_hidden() {
    const std::uint64_t input = plan_.number * kInputsPerBlock + next_input_++;
    const RunRequest request = hidden_request(task_, plan_.seed, input);
    RunResult of_a = ask(false, request), of_b = ask(true, request);
    check_pair(of_a.latents, of_b.latents);
  }

  /// A pause of secret length in which neither arm has a request.
  void rest(int q) {
    if (session_b_.session->pids().empty()) return;
    const std::uint64_t draw =
        drawn_bits(plan_.seed, kGapStream, plan_.number * kInputsPerBlock + std::uint64_t(q));
    const std::chrono::microseconds gap(draw % kMostGapMicroseconds);
    idle_b_.begin();
    std::this_thread::sleep_for(gap);
    idle_b_.end(std::chrono::nanoseconds(gap).count());
  }

  RunResult time_arm(bool is_b, std::uint64_t input) {
    return ask(is_b, timed_request(task_, plan_.seed, plan_.number * kInputsPerBlock + input));
  }

  RunResult ask(bool is_b, const RunRequest& request) {
    throw_if_interrupted();
    failed_arm_ = (is_b ? b_ : a_).name;
    WorkerSession& session = *(is_b ? session_b_ : session_a_).session;
    if (plan_.cost != nullptr) plan_.cost->before_request(is_b);
    RunResult result = session.run(request);
    last_cost_ =
        plan_.cost != nullptr ? plan_.cost->after_request(is_b, session) : result.elapsed_ns;
    (is_b ? result_.ranks_b : result_.ranks_a) = result.ranks;
    return result;
  }

  void run_quads() {
    if (plan_.guard != nullptr) {
      std::vector<pid_t> workers = session_a_.session->pids();
      for (const pid_t pid : session_b_.session->pids()) workers.push_back(pid);
      plan_.guard->start(workers);
    }
    int valid = 0;
    const int hidden_at = static_cast<int>(drawn_bits(plan_.seed, kShapeStream, plan_.number) %
                                           static_cast<std::uint64_t>(plan_.quads));
    for (int q = 0; q < 3 * plan_.quads && valid < plan_.quads; ++q) {
      if (q == hidden_at) {
        run_hidden();
        warm_up();  // back to the lane's own shape before anything counts
      }
      run_quad(q);
      valid += result_.quads.back().is_void ? 0 : 1;
    }
    if (valid < plan_.quads) {
      result_.void_cause = "too many void quads; the last: " + result_.quads.back().void_cause;
    }
  }

  void run_quad(int q) {
    QuadRecord quad;
    quad.order = quad_order(plan_.seed, plan_.number, static_cast<std::uint64_t>(q));
    const bool baab = quad.order == QuadOrder::kBaab;
    const std::uint64_t first = next_input_++, second = next_input_++;
    // A(first) B(first) B(second) A(second), or with the arms exchanged.
    const std::array<bool, 4> is_b = {baab, !baab, !baab, baab};
    const std::array<std::uint64_t, 4> inputs = {first, first, second, second};
    std::array<RunResult, 4> runs;
    if (plan_.guard != nullptr) plan_.guard->begin_quad();
    idle_b_.watch(session_b_.session->pids());
    rest(q);
    for (std::size_t i = 0; i < 4; ++i) {
      if (!is_b[i]) idle_b_.begin();
      runs[i] = time_arm(is_b[i], inputs[i]);
      quad.cost[i] = last_cost_;
      if (!is_b[i]) idle_b_.end(runs[i].elapsed_ns);
      if (plan_.guard != nullptr) plan_.guard->after_request(is_b[i] ? TimedArm::kB : TimedArm::kA);
    }
    if (plan_.guard != nullptr) plan_.guard->end_quad(quad);
    compare(runs[0], runs[1], is_b[0], first);
    compare(runs[2], runs[3], is_b[2], second);
    result_.quads.push_back(quad);
  }

  void compare(RunResult& one, RunResult& other, bool one_is_b, std::uint64_t input) {
    std::vector<float>& of_b = one_is_b ? one.latents : other.latents;
    check_pair(one_is_b ? other.latents : one.latents, of_b);
    const std::uint64_t global = plan_.number * kInputsPerBlock + input;
    if (drawn_bits(plan_.seed, kSecretStream, global) % 16 == 0) {
      result_.kept.push_back({global, std::move(of_b)});
    }
  }

  void check_pair(const std::vector<float>& of_a, const std::vector<float>& of_b) {
    const bool equal = same_bits(of_a, of_b);
    const double distance = equal ? 0.0 : relative_l2(of_a, of_b);
    result_.all_bits_equal = result_.all_bits_equal && equal;
    result_.worst_relative_l2 = std::max(result_.worst_relative_l2, distance);
    const bool fault = plan_.rule.bits ? !equal : !(distance <= plan_.rule.relative_l2);
    if (fault && result_.output_fault.empty()) {
      result_.output_fault = "a timed output differs from the other arm's for the same input by " +
                             std::to_string(distance) + " (relative L2), allowed is " +
                             (plan_.rule.bits ? "no bit" : std::to_string(plan_.rule.relative_l2));
    }
  }

  WorkerLauncher& launcher_;
  const Arm& a_;
  const Arm& b_;
  const Task& task_;
  const BlockPlan& plan_;
  std::string& failed_arm_;
  LoadedWorker session_a_, session_b_;
  BlockResult result_;
  IdleWatch idle_b_;
  std::uint64_t next_input_ = 0;
  std::int64_t last_cost_ = 0;
};

}  // namespace

QuadOrder quad_order(std::uint64_t seed, std::uint64_t number, std::uint64_t quad) {
  const std::uint64_t coin = drawn_bits(seed, kCoinStream, number * kInputsPerBlock + quad);
  return (coin & 1U) != 0 ? QuadOrder::kBaab : QuadOrder::kAbba;
}

RunRequest timed_request(const Task& task, std::uint64_t seed, std::uint64_t input) {
  return make_request(task, drawn_labels(task, seed, input),
                      RequestSeed{seed, input * static_cast<std::uint64_t>(task.images)},
                      drawn_bits(seed, kNonceStream, input));
}

RunRequest hidden_request(const Task& task, std::uint64_t seed, std::uint64_t input) {
  const std::uint64_t draw = drawn_bits(seed, kShapeStream, input);
  Task hidden = task;
  hidden.images = 1 + static_cast<std::int64_t>((draw >> 32) % std::uint64_t(task.images));
  std::vector<std::int32_t> times;
  for (std::size_t k = 0; k < task.schedule.timesteps.size(); ++k) {
    if (((draw >> (k % 32)) & 1U) != 0) times.push_back(task.schedule.timesteps[k]);
  }
  if (times.empty()) times = {task.schedule.timesteps.front()};
  hidden.schedule.timesteps = times;
  return make_request(hidden, drawn_labels(hidden, seed, input),
                      RequestSeed{seed, input * static_cast<std::uint64_t>(task.images)},
                      drawn_bits(seed, kNonceStream, input));
}

double relative_l2(std::span<const float> a, std::span<const float> b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kInfinity;
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{a[i]} * a[i];
  }
  if (difference == 0.0) return 0.0;
  return size == 0.0 ? kInfinity : std::sqrt(difference / size);
}

BlockResult run_block(WorkerLauncher& launcher, const Arm& a, const Arm& b, const Task& task,
                      const BlockPlan& plan, std::string& failed_arm) {
  return BlockRun(launcher, a, b, task, plan, failed_arm).run();
}

std::string recheck_outputs(WorkerSession& original, const Task& task, std::uint64_t seed,
                            const std::vector<KeptOutput>& kept, const OutputRule& rule,
                            const std::string& whose) {
  for (const KeptOutput& output : kept) {
    throw_if_interrupted();
    const std::vector<float> truth = original.run(timed_request(task, seed, output.input)).latents;
    const bool equal = same_bits(truth, output.values);
    const double distance = equal ? 0.0 : relative_l2(truth, output.values);
    if (rule.bits ? !equal : !(distance <= rule.relative_l2)) {
      return "a secretly chosen timed output differs from " + whose + " by " +
             std::to_string(distance) + " (relative L2), allowed is " +
             (rule.bits ? "no bit" : std::to_string(rule.relative_l2));
    }
  }
  return {};
}

}  // namespace ditar
