// dit-worker: serves a coordinator under mpirun (the default), or works by hand: bench, plan,
// profile.
#include "bench.h"
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "orphan_guard.h"
#include "plan_command.h"
#include "probe_command.h"
#include "profile_command.h"
#include "serve.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace {

void add_serve(CLI::App& app, ditar::ServeOptions& options) {
  app.add_option("--coord", options.coord, "endpoint of the coordinator (ipc:// or tcp://)");
  app.add_option("--attempt", options.attempt, "id of this launch, 32 hex digits");
}

CLI::App* add_bench(CLI::App& app, ditar::BenchOptions& options) {
  auto* bench = app.add_subcommand("bench", "time requests on one or several ranks and check them");
  bench->footer(
      "examples:\n"
      "  dit-worker bench --model config/models/mnist-dit.safetensors\n"
      "  mpirun -np 2 dit-worker bench --model config/models/mnist-dit.safetensors --plan cfg=2");
  bench->add_option("--model", options.load.model_path, ".safetensors file or diffusers folder")
      ->required();
  bench->add_option("--knobs", options.load.knobs_path, "engine knobs (config/engine.json)");
  bench->add_option("--precision", options.load.precision, "fp64, fp32, tf32, fp16 or bf16")
      ->capture_default_str();
  bench->add_option("--parity", options.load.parity, "auto, official or diffusers")
      ->capture_default_str();
  bench->add_option("--plan", options.load.plan, "how ranks split the work, e.g. data=2");
  bench->add_option("--device", options.device, "cpu, cuda (GPU number = rank) or a GPU's UUID")
      ->capture_default_str();
  bench->add_option("--topology", options.topology,
                    "probed topology: where it refuses peer access, none is used");
  bench->add_option("--threads", options.threads, "CPU threads a rank")->capture_default_str();
  bench->add_option("--images", options.images, "images a request; several sizes by commas")
      ->delimiter(',')
      ->capture_default_str();
  bench->add_option("--steps", options.steps, "denoiser steps")->capture_default_str();
  bench->add_option("--guidance", options.guidance, "1: none")->capture_default_str();
  bench->add_option("--sampler", options.sampler, "ddpm, ddim or dpmpp2m")->capture_default_str();
  bench->add_option("--requests", options.requests, "timed requests")->capture_default_str();
  bench->add_option("--warmup", options.warmup, "requests before those")->capture_default_str();
  bench->add_option("--seed", options.seed, "of the noise")->capture_default_str();
  bench->add_flag("!--no-check", options.check, "do not compare with one rank, time no exchange");
  bench->add_flag("--json", options.json, "print JSON with every time");
  return bench;
}

CLI::App* add_plan(CLI::App& app, ditar::PlanOptions& options) {
  auto* plan = app.add_subcommand("plan", "rank the ways to split a job over a topology");
  plan->footer(
      "example:\n"
      "  dit-worker plan --model DiT-XL/2 --topology topology/machines/two-a5500-nvlink.json "
      "--ranks 2\n"
      "  mpirun -np 2 dit-worker plan --measure --fit fit.json "
      "--model config/models/mnist-dit.safetensors");
  plan->add_option("--model", options.model,
                   "DiT-S/2 ... DiT-XL/8; to measure: .safetensors file or diffusers folder")
      ->capture_default_str();
  plan->add_option("--topology", options.topology, "topology file; none: this host's CPU");
  plan->add_option("--ranks", options.ranks, "ranks there are")->capture_default_str();
  plan->add_option("--images", options.images, "images a request")->capture_default_str();
  plan->add_option("--size", options.size, "height and width of the latents")
      ->capture_default_str();
  plan->add_option("--steps", options.steps, "denoiser steps")->capture_default_str();
  plan->add_option("--guidance", options.guidance, "1: none")->capture_default_str();
  plan->add_option("--precision", options.precision,
                   "fp32, tf32, fp16 or bf16; none: fp32 to measure a CPU, else fp16");
  plan->add_option("--gpu", options.gpu, "figures of this GPU, by its full name");
  plan->add_option("--memory-cap", options.memory_cap_bytes, "bytes a GPU may use; 0: all");
  plan->add_flag("--json", options.json, "print JSON");
  plan->add_flag("--measure", options.measure, "run the first plans and fit the model to them");
  plan->add_option("--fit", options.fit, "file of measured plans: used, and added to by --measure");
  plan->add_option("--top", options.top, "plans to measure")->capture_default_str();
  plan->add_option("--requests", options.requests, "timed requests a plan")->capture_default_str();
  plan->add_option("--device", options.device, "to measure on: cpu or cuda (GPU number = rank)")
      ->capture_default_str();
  plan->add_option("--threads", options.threads, "to measure on: CPU threads a rank")
      ->capture_default_str();
  return plan;
}

CLI::App* add_probe(CLI::App& app, ditar::ProbeCommandOptions& options) {
  auto* probe = app.add_subcommand("probe", "measure the links between GPUs or ranks");
  probe->footer(
      "examples:\n"
      "  dit-worker probe --device cuda --out peers.json\n"
      "  mpirun -np 2 dit-worker probe --device cuda --topology peers.json --out links.json\n"
      "  dit-worker plan --ranks 2 --topology links.json");
  probe->add_option("--device", options.device, "cpu or cuda (GPU number = rank)")
      ->capture_default_str();
  probe->add_option("--topology", options.topology, "file to add to; none: this machine");
  probe->add_option("--out", options.out, "file to write the measured topology to");
  probe->add_option("--ranks", options.ranks, "threads, where no launcher started ranks")
      ->capture_default_str();
  probe->add_flag("--json", options.json, "print JSON");
  return probe;
}

CLI::App* add_profile(CLI::App& app, ditar::ProfileOptions& options) {
  options.load.precision.clear();
  auto* profile = app.add_subcommand("profile", "show where the time of a denoiser step goes");
  profile->footer(
      "examples:\n"
      "  dit-worker profile --model config/models/mnist-dit.safetensors\n"
      "  dit-worker profile --model-of \"NVIDIA RTX A5500\" --image 256 --batch 2");
  profile->add_option("--model", options.load.model_path,
                      ".safetensors file or diffusers folder to measure");
  profile->add_option("--knobs", options.load.knobs_path, "engine knobs (config/engine.json)");
  profile->add_option("--precision", options.load.precision,
                      "fp64, fp32, tf32, fp16 or bf16; none: fp32 on the cpu, else fp16");
  profile->add_option("--parity", options.load.parity, "auto, official or diffusers")
      ->capture_default_str();
  profile->add_option("--device", options.device, "cpu or cuda")->capture_default_str();
  profile->add_option("--threads", options.threads, "CPU threads")->capture_default_str();
  profile->add_option("--images", options.images, "images a request")->capture_default_str();
  profile->add_option("--steps", options.steps, "denoiser steps")->capture_default_str();
  profile->add_option("--guidance", options.guidance, "1: none")->capture_default_str();
  profile->add_option("--sampler", options.sampler, "ddpm, ddim or dpmpp2m")->capture_default_str();
  profile->add_option("--repeats", options.repeats, "of the profiled step")->capture_default_str();
  profile->add_option("--model-of", options.model_of, "predict for this GPU, by its full name");
  profile->add_option("--architecture", options.architecture, "to predict: DiT-S/2 ... DiT-XL/8")
      ->capture_default_str();
  profile->add_option("--image", options.image, "to predict: pixels of a side")
      ->capture_default_str();
  profile->add_option("--batch", options.batch, "to predict: rows, both branches counted")
      ->capture_default_str();
  profile->add_option("--clock-mhz", options.clock_mhz, "to predict: clock; 0: boost")
      ->capture_default_str();
  profile->add_flag("--json", options.json, "print JSON");
  return profile;
}

int run(const std::function<int()>& action) {
  try {
    return action();
  } catch (const ditar::Error& error) {
    ditar::log_error(error.message());
    return ditar::to_int(error.exit_code());
  } catch (const std::exception& error) {
    ditar::log_error(error.what());
    return ditar::to_int(ditar::ExitCode::kFailure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ditar::die_with_parent();
  ditar::init_logging("dit-worker");
  CLI::App app("dit-worker: the DiT engine's worker. dit-ar launches it through mpirun.");
  ditar::ServeOptions serve;
  ditar::BenchOptions bench;
  ditar::PlanOptions plan;
  ditar::ProbeCommandOptions probe;
  ditar::ProfileOptions profile;
  app.require_subcommand(0, 1);
  bool parse_only = false;
  app.add_flag("--parse-only", parse_only, "check the command line and do nothing")->group("");
  add_serve(app, serve);
  const CLI::App* bench_app = add_bench(app, bench);
  const CLI::App* plan_app = add_plan(app, plan);
  const CLI::App* probe_app = add_probe(app, probe);
  const CLI::App* profile_app = add_profile(app, profile);
  try {
    app.parse(argc, argv);
    if (bench_app->count() + plan_app->count() + probe_app->count() + profile_app->count() == 0 &&
        (serve.coord.empty() || serve.attempt.empty())) {
      throw CLI::RequiredError(
          "--coord and --attempt, or a subcommand (bench, plan, probe, profile)");
    }
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : ditar::to_int(ditar::ExitCode::kUsage);
  }
  if (parse_only) return 0;
  if (bench_app->count() != 0) return run([&] { return ditar::bench(bench); });
  if (plan_app->count() != 0) return run([&] { return ditar::plan_command(plan); });
  if (probe_app->count() != 0) return run([&] { return ditar::probe_command(probe); });
  if (profile_app->count() != 0) return run([&] { return ditar::profile_command(profile); });
  return run([&] { return ditar::serve(serve); });
}
