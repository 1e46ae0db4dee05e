// dit-ar-study [trials]: error rates and power of the shipped decision code on the simulated
// engine, a campaign of 300 candidates and sweeps, as tables on standard output with the bars that
// they have to clear. Deterministic. Exit code 1 if a bar is missed.
#include "ditar/config/exit_codes.h"
#include "ditar/coordinator/verdict/statistics.h"
#include "ditar/coordinator/verdict/sweep_decision.h"
#include "simulated_engine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace ditar;
using namespace ditar::study;

constexpr double kCalibrated = 0.0;  // TrialSetup::sigma0: measured by A/A blocks in each trial

struct Profile {
  std::string name;
  EngineModel model;
  DecisionParams params;
};

struct Rates {
  double keep = 0.0, discard = 0.0, other = 0.0, replayed = 0.0;  // shares
  double blocks = 0.0, screen = 0.0;                              // mean; median
};

class Bars {
 public:
  void at_most(const std::string& what, double value, double limit) {
    add(what, value, "<=", limit, value <= limit);
  }
  void at_least(const std::string& what, double value, double limit) {
    add(what, value, ">=", limit, value >= limit);
  }
  bool print() const {
    std::printf("\nbars\n");
    for (const std::string& line : lines_) std::printf("%s\n", line.c_str());
    std::printf("%d missed\n", missed_);
    return missed_ == 0;
  }

 private:
  void add(const std::string& what, double value, const char* sign, double limit, bool holds) {
    char line[200];
    std::snprintf(line, sizeof line, "%-6s %-62s %8.3f %s %.3f", holds ? "ok" : "MISSED",
                  what.c_str(), value, sign, limit);
    lines_.emplace_back(line);
    missed_ += holds ? 0 : 1;
  }
  std::vector<std::string> lines_;
  int missed_ = 0;
};

Rates measure(const Profile& profile, const TrialSetup& setup, int trials) {
  Rates rates;
  std::vector<double> screens;
  for (int t = 0; t < trials; ++t) {
    SimulatedEngine engine(profile.model, 1000003ULL * static_cast<unsigned>(t) + 17);
    const TrialResult r = run_trial(engine, setup, profile.params);
    rates.blocks += r.blocks;
    rates.keep += r.decision.outcome == Outcome::kKeep ? 1 : 0;
    rates.discard += r.decision.outcome == Outcome::kDiscard ? 1 : 0;
    rates.other += r.decision.outcome != Outcome::kKeep && r.decision.outcome != Outcome::kDiscard;
    rates.replayed += r.rounds > 1 ? 1 : 0;
    screens.push_back(r.screen_blocks);
  }
  for (double* share :
       {&rates.keep, &rates.discard, &rates.other, &rates.replayed, &rates.blocks}) {
    *share /= trials;
  }
  rates.screen = median(screens);
  return rates;
}

Rates print_row(const Profile& profile, const char* what, const TrialSetup& setup, int trials) {
  const Rates r = measure(profile, setup, trials);
  std::printf("%-10s %-26s %6.2f %% %5d %7.2f %% %7.2f %% %7.2f %% %8.2f %% %7.1f %7.1f\n",
              profile.name.c_str(), what, 100.0 * setup.gain, setup.test_index, 100.0 * r.keep,
              100.0 * r.discard, 100.0 * r.other, 100.0 * r.replayed, r.blocks, r.screen);
  return r;
}

void print_errors(const Profile& profile, double sd, int trials, Bars& bars) {
  const auto no_op = [&](const Profile& world, const char* what, double sigma0) {
    const Rates r = print_row(world, what, {0.0, sigma0, 1, 0}, trials);
    bars.at_most(profile.name + ": " + what + ", false KEEP %", 100.0 * r.keep, 1.0);
  };
  no_op(profile, "A/A", kCalibrated);
  no_op(profile, "A/A, sigma0 half", 0.5 * sd);
  no_op(profile, "A/A, sigma0 double", 2.0 * sd);
  Profile hot = profile;
  hot.model.throttle_every_s = 1800.0;
  no_op(hot, "A/A, throttling seen", kCalibrated);
  hot.model.throttle_seen_share = 0.0;
  no_op(hot, "A/A, throttling unseen", kCalibrated);
  hot.model.throttle_every_s = 120.0;
  no_op(hot, "A/A, 15 x as often unseen", kCalibrated);
  hot.model.throttle_seen_share = 1.0;
  hot.model.candidate_throttles = true;
  hot.model.throttle_every_s = 60.0;
  no_op(hot, "B throttles", 1.277 * sd);
  const Rates slow = print_row(profile, "slower", {-0.01, kCalibrated, 1, 0}, trials);
  bars.at_most(profile.name + ": 1 % slower, KEEP %", 100.0 * slow.keep, 0.0);
  bars.at_most(profile.name + ": 1 % slower, median screen blocks", slow.screen, 3.0);
}

/// `small` and `large`: gains that the profile promises to see in 80 % and 99 % by the tenth test.
void print_power(const Profile& profile, double small, double large, int trials, Bars& bars) {
  for (const int index : {1, 10, 30, 100, 300}) {
    for (const double gain : {0.005, 0.01, 0.015, 0.02, 0.03}) {
      const TrialSetup setup{gain, kCalibrated, index, index / 10};
      const Rates r = print_row(profile, "power", setup, trials);
      if (index > 10 || (gain != small && gain != large)) continue;
      char what[96];
      std::snprintf(what, sizeof what, "%s: +%.1f %% at test %d, KEEP %%", profile.name.c_str(),
                    100.0 * gain, index);
      bars.at_least(what, 100.0 * r.keep, gain == large ? 99.0 : 80.0);
    }
  }
}

void print_rates(const Profile& profile, double small, double large, int trials, Bars& bars) {
  const double sd = true_block_sd(profile.model, profile.params, 1);
  std::printf("\n%s: true block noise %.3f %%, MDE (test 1) %.2f %% at sigma0 %.3f %%\n",
              profile.name.c_str(), 100.0 * sd,
              100.0 * minimum_detectable_effect(1.277 * sd, profile.params, 1, 0), 127.7 * sd);
  std::printf(
      "profile    case                         gain  test     KEEP   DISCARD     other   replayed  "
      "blocks  screen\n");
  print_errors(profile, sd, trials, bars);
  print_power(profile, small, large, trials, bars);
}

void print_campaign(const Profile& profile, std::uint64_t seed, Bars& bars) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  SimulatedEngine engine(profile.model, seed + 1);
  double truth = 0.0, sigma0 = calibrated_sigma0(engine, profile.params);
  std::vector<double> controls;
  int kept = 0, false_keeps = 0, good = 0, good_kept = 0, replays = 0;
  long blocks = 0;
  for (int i = 1; i <= 300; ++i) {
    const double kind = uniform(random);
    const double size = 0.003 + 0.027 * uniform(random);
    const double gain = kind < 0.15 ? size : kind < 0.75 ? 0.0 : -size;
    const TrialResult r = run_trial(engine, {gain, sigma0, i, kept, controls}, profile.params);
    sigma0 = r.sigma0;
    controls = r.controls;
    replays += r.rounds - 1;
    blocks += r.blocks;
    good += gain > 0.0 ? 1 : 0;
    if (r.decision.outcome != Outcome::kKeep) continue;
    ++kept;
    truth += gain;
    good_kept += gain > 0.0 ? 1 : 0;
    false_keeps += gain <= 0.0 ? 1 : 0;
  }
  // What is claimed: original against best on fresh blocks.
  std::vector<BlockRecord> fresh;
  for (int i = 0; i < profile.params.confirm_blocks; ++i) {
    fresh.push_back(
        engine.run_block(BlockKind::kHeadToHead, truth, profile.params.quads_per_block));
  }
  const double claimed = speedup_percent(head_to_head(fresh, profile.params).effect.estimate);
  const double real = speedup_percent(truth);
  std::printf("%-10s %6d %6d %6d %6d %8.2f %% %8.2f %% %8d %8ld\n", profile.name.c_str(), good,
              kept, good_kept, false_keeps, claimed, real, replays, blocks);
  const std::string name = profile.name + ": campaign " + std::to_string(seed);
  bars.at_most(name + ", |claimed - true| points", std::abs(claimed - real), 2.0);
  bars.at_most(name + ", false discoveries %", kept > 0 ? 100.0 * false_keeps / kept : 0.0, 5.0);
}

/// 24 configurations of 6 blocks each; `good` of them faster by `gain`.
void print_sweeps(const Profile& profile, int good, double gain, int trials, Bars& bars) {
  constexpr int kPoints = 24, kBlocks = 6;
  int found = 0, winner_right = 0;
  double share_false = 0.0;
  for (int t = 0; t < trials; ++t) {
    SimulatedEngine engine(profile.model, 7000001ULL * static_cast<unsigned>(t) + 3);
    SweepEvidence evidence;
    evidence.sigma0 = calibrated_sigma0(engine, profile.params);
    if (evidence.sigma0 <= 0.0) continue;
    for (int point = 0; point < kPoints; ++point) {
      std::vector<double> gains;
      for (int k = 0; k < kBlocks; ++k) {
        const auto value =
            block_value(engine.run_block(BlockKind::kScreen, point < good ? gain : 0.0,
                                         profile.params.quads_per_block),
                        profile.params.quads_per_block);
        if (value) gains.push_back(-*value);
      }
      evidence.gains.push_back(gains);
    }
    const SweepDecision d = decide_sweep(evidence, profile.params);
    const auto wrong = std::count_if(d.better.begin(), d.better.end(), [&](std::size_t i) {
      return i >= static_cast<std::size_t>(good);
    });
    found += static_cast<int>(d.better.size()) - static_cast<int>(wrong);
    if (!d.better.empty()) {
      share_false += static_cast<double>(wrong) / static_cast<double>(d.better.size());
    }
    winner_right += d.winner && *d.winner < static_cast<std::size_t>(good) ? 1 : 0;
  }
  std::printf("%-10s %4d of %d at %.1f %% %10.2f %% %12.2f %% %12.2f %%\n", profile.name.c_str(),
              good, kPoints, 100.0 * gain, good > 0 ? 100.0 * found / (good * trials) : 0.0,
              100.0 * share_false / trials, 100.0 * winner_right / trials);
  bars.at_most(profile.name + ": sweep with " + std::to_string(good) + " better, FDR %",
               100.0 * share_false / trials, 5.0);
}

int run(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (trials < 40 || argc > 2) {
    std::fprintf(stderr, "usage: dit-ar-study [trials, at least 40]\n");
    return to_int(ExitCode::kUsage);
  }
  const Profile reference{"reference", EngineModel{}, DecisionParams{}};
  const Profile quick{"quick", small_cpu_model(), quick_profile()};
  Bars bars;
  std::printf("%d trials a row\n", trials);
  print_rates(reference, 0.005, 0.01, trials, bars);
  print_rates(quick, 0.015, 0.02, trials, bars);
  std::printf("\ncampaign of 300: 15 %% good by 0.3..3 %%, 60 %% null, 25 %% harmful\n");
  std::printf("profile      good   kept  right  false    claimed      truth   replays   blocks\n");
  for (const Profile& profile : {reference, quick}) {
    for (const std::uint64_t seed : {11ULL, 12ULL, 13ULL}) print_campaign(profile, seed, bars);
  }
  std::printf(
      "\nsweeps by e-BH\nprofile    better            found     false share  winner better\n");
  for (const Profile& profile : {reference, quick}) {
    for (const int good : {0, 4}) {
      print_sweeps(profile, good, profile.params.min_effect + 0.01, trials / 10, bars);
    }
  }
  return bars.print() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dit-ar-study: %s\n", error.what());
    return 1;
  }
}
