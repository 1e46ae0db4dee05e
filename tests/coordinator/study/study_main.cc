// dit-ar-study [trials]: error rates and power of the shipped decide() on the simulated engine, and
// a campaign of 300 candidates, as tables on standard output. Deterministic.
#include "ditar/config/exit_codes.h"
#include "ditar/coordinator/verdict/statistics.h"
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

struct Profile {
  std::string name;
  EngineModel model;
  DecisionParams params;
};

void print_row(const Profile& profile, const char* what, double gain, double sigma0, int index,
               int keeps, int trials) {
  int kept = 0, discarded = 0, other = 0;
  double blocks = 0.0;
  std::vector<double> screens;
  for (int t = 0; t < trials; ++t) {
    SimulatedEngine engine(profile.model, 1000003ULL * static_cast<unsigned>(t) + 17);
    const TrialResult r = run_trial(engine, {gain, sigma0, index, keeps}, profile.params);
    blocks += r.blocks;
    screens.push_back(r.screen_blocks);
    kept += r.decision.outcome == Outcome::kKeep ? 1 : 0;
    discarded += r.decision.outcome == Outcome::kDiscard ? 1 : 0;
    other += r.decision.outcome != Outcome::kKeep && r.decision.outcome != Outcome::kDiscard;
  }
  const double n = trials;
  std::printf("%-10s %-24s %6.2f %% %5d %7.2f %% %7.2f %% %7.2f %% %8.1f %8.1f\n",
              profile.name.c_str(), what, 100.0 * gain, index, 100.0 * kept / n,
              100.0 * discarded / n, 100.0 * other / n, blocks / n, median(screens));
}

void print_rates(Profile profile, int trials) {
  const double sd = true_block_sd(profile.model, profile.params, 1);
  const double sigma0 = 1.277 * sd;  // the upper bound that 20 A/A blocks give on average
  std::printf("\n%s: true block noise %.3f %%, sigma0 %.3f %%, MDE (test 1) %.2f %%\n",
              profile.name.c_str(), 100.0 * sd, 100.0 * sigma0,
              100.0 * minimum_detectable_effect(sigma0, profile.params, 1, 0));
  std::printf(
      "profile    case                        gain  test     KEEP  DISCARD    other   blocks  "
      "screen\n");
  print_row(profile, "A/A", 0.0, sigma0, 1, 0, trials);
  print_row(profile, "A/A, sigma0 half", 0.0, 0.5 * sd, 1, 0, trials);
  print_row(profile, "A/A, sigma0 double", 0.0, 2.0 * sd, 1, 0, trials);
  Profile hot = profile;
  hot.model.throttle_every_s = 1800.0;
  print_row(hot, "A/A, throttling seen", 0.0, sigma0, 1, 0, trials);
  hot.model.throttle_seen_share = 0.0;
  print_row(hot, "A/A, throttling unseen", 0.0, sigma0, 1, 0, trials);
  hot.model.throttle_seen_share = 1.0;
  hot.model.candidate_throttles = true;
  hot.model.throttle_every_s = 60.0;
  print_row(hot, "B throttles", 0.0, sigma0, 1, 0, trials / 10);
  print_row(profile, "slower", -0.01, sigma0, 1, 0, trials);
  for (const int index : {1, 10, 30, 100, 300}) {
    const int keeps = index / 10;
    for (const double gain : {0.005, 0.01, 0.02, 0.03}) {
      print_row(profile, "power", gain, sigma0, index, keeps, trials / 4);
    }
  }
}

void print_campaign(const Profile& profile, std::uint64_t seed) {
  const double sigma0 = 1.277 * true_block_sd(profile.model, profile.params, 1);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  SimulatedEngine engine(profile.model, seed + 1);
  double truth = 0.0;
  int kept = 0, false_keeps = 0, good = 0, good_kept = 0;
  long blocks = 0;
  for (int i = 1; i <= 300; ++i) {
    const double kind = uniform(random);
    const double size = 0.003 + 0.027 * uniform(random);
    const double gain = kind < 0.15 ? size : kind < 0.75 ? 0.0 : -size;
    const TrialResult r = run_trial(engine, {gain, sigma0, i, kept}, profile.params);
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
  for (int i = 0; i < 10; ++i) {
    fresh.push_back(
        engine.run_block(BlockKind::kHeadToHead, truth, profile.params.quads_per_block));
  }
  const double claimed = head_to_head(fresh, profile.params).effect.estimate;
  std::printf("%-10s %6d %6d %6d %6d %8.2f %% %8.2f %% %8ld\n", profile.name.c_str(), good, kept,
              good_kept, false_keeps, speedup_percent(claimed), speedup_percent(truth), blocks);
}

int run(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (trials < 40 || argc > 2) {
    std::fprintf(stderr, "usage: dit-ar-study [trials, at least 40]\n");
    return to_int(ExitCode::kUsage);
  }
  const std::vector<Profile> profiles = {{"reference", EngineModel{}, DecisionParams{}},
                                         {"quick", small_cpu_model(), quick_profile()}};
  for (const Profile& profile : profiles) print_rates(profile, trials);
  std::printf("\ncampaign of 300: 15 %% good by 0.3..3 %%, 60 %% null, 25 %% harmful\n");
  std::printf("profile      good   kept  right  false    claimed      truth   blocks\n");
  for (const Profile& profile : profiles) {
    for (const std::uint64_t seed : {11ULL, 12ULL, 13ULL}) print_campaign(profile, seed);
  }
  return 0;
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
