#include "sampler_plan.h"

#include "ditar/config/error.h"
#include "noise_schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ditar {
namespace {

void check_timesteps(const RequestSchedule& schedule) {
  require(!schedule.timesteps.empty(), "the schedule has no timesteps; give at least one");
  std::int32_t before = kTrainSteps;
  for (const std::int32_t t : schedule.timesteps) {
    if (t < 0 || t >= kTrainSteps) {
      throw InvalidArgument("timestep " + std::to_string(t) + " is outside 0..999");
    }
    if (t >= before) {
      throw InvalidArgument("timestep " + std::to_string(t) + " follows " + std::to_string(before) +
                            "; give them in descending order, each once");
    }
    before = t;
  }
}

void check_options(const RequestSchedule& schedule) {
  require(std::isfinite(schedule.eta) && schedule.eta >= 0.0,
          "eta must be a finite number >= 0; 0 is deterministic DDIM");
  require(schedule.eta == 0.0 || schedule.sampler == SamplerKind::kDdim,
          "eta belongs to the ddim sampler; set it to 0 for the others");
  require(std::isfinite(schedule.guidance), "guidance must be a finite number; 1 is none");
  require(schedule.guided_channels == 0 || schedule.guided_channels == 3,
          "guided_channels is " + std::to_string(schedule.guided_channels) +
              "; give 3, or 0 for all channels");
}

// DDIM (Song et al. 2021, eq. 12 with sigma of eq. 16).
void fill_ddim(SamplerStep& step, double eta, bool last) {
  const double now = step.alpha_bar;
  const double next = step.alpha_bar_next;
  const double sigma = eta * std::sqrt((1.0 - next) / (1.0 - now)) * std::sqrt(1.0 - now / next);
  step.keep = std::sqrt(next) * step.x0_keep;
  step.eps_scale = std::sqrt(next) * step.x0_eps + std::sqrt(1.0 - next - sigma * sigma);
  step.noise_scale = last ? 0.0 : sigma;
}

// DDPM posterior (Ho et al. 2020, eq. 7) over the respaced chain.
void fill_ddpm(SamplerStep& step) {
  const double now = step.alpha_bar;
  const double next = step.alpha_bar_next;
  const double beta = 1.0 - now / next;
  const double x0_weight = beta * std::sqrt(next) / (1.0 - now);
  step.keep = x0_weight * step.x0_keep + (1.0 - next) * std::sqrt(1.0 - beta) / (1.0 - now);
  step.eps_scale = x0_weight * step.x0_eps;
  step.max_log = std::log(beta);
}

// The posterior variance is 0 at the last step, so its log is taken from the step before.
void fill_ddpm_variance(SamplerPlan& plan) {
  std::vector<SamplerStep>& steps = plan.steps;
  const auto posterior = [](const SamplerStep& step) {
    return (1.0 - step.alpha_bar / step.alpha_bar_next) * (1.0 - step.alpha_bar_next) /
           (1.0 - step.alpha_bar);
  };
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const bool last = k + 1 == steps.size();
    // A single step has none before it and draws no noise: beta keeps the logarithm finite.
    steps[k].min_log =
        steps.size() == 1 ? steps[k].max_log : std::log(posterior(steps[last ? k - 1 : k]));
    if (plan.variance == VarianceKind::kFixedSmall && !last) {
      steps[k].noise_scale = std::exp(0.5 * steps[k].min_log);
    }
  }
}

// DPM-Solver++(2M), midpoint form (Lu et al. 2022, algorithm 2); the last step goes to sigma = 0
// and is of first order there.
void fill_dpmpp(SamplerPlan& plan, std::size_t k) {
  SamplerStep& step = plan.steps[k];
  if (step.alpha_bar_next == 1.0) {
    step.keep = step.x0_keep;
    step.eps_scale = step.x0_eps;
    return;
  }
  const auto lambda = [](double bar) { return 0.5 * (std::log(bar) - std::log1p(-bar)); };
  const double h = lambda(step.alpha_bar_next) - lambda(step.alpha_bar);
  const double weight = -std::sqrt(step.alpha_bar_next) * std::expm1(-h);
  double now_weight = weight;
  if (k > 0) {
    const double h_before = lambda(step.alpha_bar) - lambda(plan.steps[k - 1].alpha_bar);
    const double half_over_r = 0.5 * h / h_before;
    now_weight = weight * (1.0 + half_over_r);
    step.history = -weight * half_over_r;
  }
  step.keep =
      std::sqrt((1.0 - step.alpha_bar_next) / (1.0 - step.alpha_bar)) + now_weight * step.x0_keep;
  step.eps_scale = now_weight * step.x0_eps;
}

}  // namespace

SamplerPlan plan_sampler(const RequestSchedule& schedule, bool learned_variance, Parity parity) {
  check_timesteps(schedule);
  check_options(schedule);
  SamplerPlan plan;
  if (schedule.sampler == SamplerKind::kDdpm) {
    plan.variance =
        parity == Parity::kDiffusers ? VarianceKind::kFixedSmall : VarianceKind::kLearnedRange;
    require(plan.variance != VarianceKind::kLearnedRange || learned_variance,
            "ddpm in official parity needs a model with learned variance, and this one has none; "
            "use ddim or dpmpp2m");
  }
  const std::vector<double> bars = alpha_bars(linear_betas());
  const std::size_t count = schedule.timesteps.size();
  plan.steps.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    SamplerStep& step = plan.steps[k];
    step.timestep = schedule.timesteps[k];
    step.alpha_bar = bars[static_cast<std::size_t>(step.timestep)];
    step.alpha_bar_next =
        k + 1 < count ? bars[static_cast<std::size_t>(schedule.timesteps[k + 1])] : 1.0;
    step.x0_keep = std::sqrt(1.0 / step.alpha_bar);
    step.x0_eps = -std::sqrt(1.0 / step.alpha_bar - 1.0);
    if (schedule.sampler == SamplerKind::kDdim) fill_ddim(step, schedule.eta, k + 1 == count);
    if (schedule.sampler == SamplerKind::kDdpm) fill_ddpm(step);
    if (schedule.sampler == SamplerKind::kDpmSolverPlusPlus2M) fill_dpmpp(plan, k);
  }
  if (schedule.sampler == SamplerKind::kDdpm) fill_ddpm_variance(plan);
  plan.keeps_history = schedule.sampler == SamplerKind::kDpmSolverPlusPlus2M;
  plan.draws_noise = count > 1 && (schedule.sampler == SamplerKind::kDdpm || schedule.eta > 0.0);
  return plan;
}

}  // namespace ditar
