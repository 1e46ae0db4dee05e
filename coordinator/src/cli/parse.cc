#include "cli/parse.h"

#include "cli/completion.h"
#include "cli/console.h"
#include "ditar/config/error.h"
#include "ditar/config/json_document.h"
#include "ditar/coordinator/version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace ditar {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done (a verdict of any kind included), 1 fault of the program, 2 wrong usage,\n"
    "65 damaged data, 67 refused by the session's rules, 69 something is missing on this machine,\n"
    "74 read, write or lock refused, 75 the machine was at fault: try again, 76 broken wire\n"
    "contract, 78 wrong settings file, 130 and 143 interrupted.";

std::string footer_of(const std::string& examples) {
  std::string text = "Examples:\n", rest = examples;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += "  dit-ar " + rest.substr(0, end) + "\n";
    rest.erase(0, end + 1);
  }
  return text + "\n" + kExitCodes;
}

/// The options of all commands, alive as long as the invocation.
struct AllOptions {
  DoctorOptions doctor;
  InitOptions init;
  BaselineOptions baseline;
  CheckOptions check;
  ExperimentOptions experiment;
  LogOptions log;
  ShowOptions show;
  CompareOptions compare;
  ReportOptions report;
  SearchOptions search;
  GenerateOptions generate;
  TopologyOptions topology;
  ProfileCommandOptions profile;
  VerifyOptions verify;
  std::string shell = "bash";
};

class Builder {
 public:
  Builder(CLI::App& app, Invocation& invocation, std::shared_ptr<AllOptions> options)
      : app_(app), invocation_(invocation), options_(std::move(options)) {}

  void add_all() {
    add_session_commands();
    add_experiment_commands();
    add_reading_commands();
    add_product_commands();
  }

 private:
  /// @param examples command lines without "dit-ar", one each line
  template <class Run>
  CLI::App* add(const std::string& name, const std::string& what, const std::string& examples,
                Run run) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->footer(footer_of(examples));
    Invocation* target = &invocation_;
    command->callback([target, name, run, options = options_] {
      target->command = name;
      target->run = [target_global = &target->global, run, options](Console& console) {
        return run(*target_global, *options, console);
      };
    });
    return command;
  }

  void add_session_commands();
  void add_experiment_commands();
  void add_reading_commands();
  void add_product_commands();

  CLI::App& app_;
  Invocation& invocation_;
  std::shared_ptr<AllOptions> options_;
};

#define DITAR_RUN(function, member) \
  [](const GlobalOptions& g, const AllOptions& o, Console& c) { return function(g, o.member, c); }

void Builder::add_session_commands() {
  auto* doctor = add("doctor", "Check everything that a session needs and say how to mend it",
                     "doctor\ndoctor --quick --json\ndoctor --adversarial --case honest-faster",
                     DITAR_RUN(run_doctor, doctor));
  doctor->add_flag("--quick", options_->doctor.quick, "Skip the hashes of weights");
  doctor->add_flag("--adversarial", options_->doctor.adversarial,
                   "Judge known cheats and honest changes in a scratch clone (up to 45 minutes)");
  doctor->add_option("--case", options_->doctor.cases, "Only this case of the suite")
      ->allow_extra_args(false);
  doctor->add_flag("--table", options_->doctor.table,
                   "With --adversarial: print what each case is to get and run nothing");
  auto* init = add("init", "Start a session on this branch: lock the fixed paths, bind a lane",
                   "init\ninit --lane cpu-mnist", DITAR_RUN(run_init, init));
  init->add_option("--lane", options_->init.lane,
                   "Lane to bind (default: the configuration's choice for this hardware)");
  add("baseline", "Build and measure the session's unmodified commit; calibrate the noise",
      "baseline\n--config config/autoresearch.json baseline", DITAR_RUN(run_baseline, baseline));
  add("recover", "Close what a dead run left open and say what was found", "recover",
      [](const GlobalOptions& g, const AllOptions&, Console& c) { return run_recover(g, c); });
  add("discard", "Archive HEAD under a ref, then go back to the lane's best commit", "discard",
      [](const GlobalOptions& g, const AllOptions&, Console& c) { return run_discard(g, c); });
}

void Builder::add_experiment_commands() {
  auto* check = add("check", "Path rules, incremental build and one forward of the working tree",
                    "check\ncheck --no-build", DITAR_RUN(run_check, check));
  check->add_flag("--build,!--no-build", options_->check.build, "Build and run (default)");
  auto* experiment =
      add("experiment", "Run one gated experiment on HEAD: KEEP, DISCARD or CRASH",
          "experiment --classification exact --description \"fuse the gate into the GEMM\"\n"
          "experiment --classification numerical --description \"BF16 sums\" --expect \"gemm 60 % "
          "-> 50 %\"",
          DITAR_RUN(run_experiment, experiment));
  ExperimentOptions& options = options_->experiment;
  experiment
      ->add_option("--classification", options.classification,
                   "exact, numerical, approximate or quantization")
      ->required();
  experiment->add_option("--description", options.description, "Short causal hypothesis")
      ->required();
  experiment->add_option("--expect", options.expect, "Expected shift of the bottleneck");
  experiment
      ->add_option("--cite", options.cite, "Handbook page that the idea rests on; may be repeated")
      ->allow_extra_args(false);
  experiment->add_flag("--again", options.again, "Measure although the same change was judged");
}

void Builder::add_reading_commands() {
  add("status", "The session, the best so far, recent failures and the next step",
      "status\nstatus --json",
      [](const GlobalOptions& g, const AllOptions&, Console& c) { return run_status(g, c); });
  auto* log = add("log", "The experiments of this session, newest last",
                  "log --limit 50\nlog --status keep", DITAR_RUN(run_log, log));
  log->add_option("--limit", options_->log.limit, "How many")->check(CLI::Range(1, 1'000'000));
  log->add_option("--status", options_->log.status, "Only keep, discard or crash");
  auto* show = add("show", "Everything about one experiment", "show last\nshow 7 --json",
                   DITAR_RUN(run_show, show));
  show->add_option("id", options_->show.id, "Experiment id, commit prefix or \"last\"")->required();
  auto* compare = add("compare", "Two experiments side by side", "compare 3 5",
                      DITAR_RUN(run_compare, compare));
  compare->add_option("first", options_->compare.first, "Experiment id or commit")->required();
  compare->add_option("second", options_->compare.second, "Experiment id or commit")->required();
  auto* report =
      add("report", "Report of this session: Markdown, tables, progress.png, page scores",
          "report\nreport --out ../report", DITAR_RUN(run_report, report));
  report->add_option("--out", options_->report.out,
                     "Folder to write into (default: .autoresearch/report)");
  auto* verify = add("verify", "Check the ledger's chain and recompute verdicts from raw figures",
                     "verify\nverify last\nverify best --remeasure", DITAR_RUN(run_verify, verify));
  verify->add_option("id", options_->verify.id, "Experiment id (default: all)");
  verify->add_flag("--remeasure", options_->verify.remeasure,
                   "Rebuild the experiment from its ref and measure it again against its parent;\n"
                   "\"best\" is measured against the original: the cumulative gain");
  auto* search = add("search", "Rank handbook passages and past experiments",
                     "search \"softmax + small batch + sm_86\"", DITAR_RUN(run_search, search));
  search->add_option("text", options_->search.words, "Words, taken as they are");
  search->add_option("--limit", options_->search.limit, "How many passages")
      ->check(CLI::Range(1, 100));
}

void Builder::add_product_commands() {
  GenerateOptions& generation = options_->generate;
  auto* generate = add("generate", "Make images with the engine: a labelled PNG grid, NPZ",
                       "generate --labels 0-9 --seed 7 --out grid.png\n"
                       "generate --labels 3,3,7 --steps 20 --npz digits.npz",
                       DITAR_RUN(run_generate, generate));
  generate->add_option("--labels", generation.labels, "Classes, e.g. 0-9 or 3,3,7")
      ->capture_default_str();
  generate->add_option("--seed", generation.seed, "Seed of the initial noise")
      ->capture_default_str();
  generate->add_option("--out", generation.out, "PNG file")->capture_default_str();
  generate->add_option("--npz", generation.npz,
                       "NPZ file as FID tools read it (arr_0: uint8, NHWC)");
  generate->add_option("--model", generation.model, "Checkpoint (default: the lane's)");
  generate->add_option("--lane", generation.lane, "Lane whose defaults are used");
  generate->add_option("--steps", generation.steps, "Sampling steps")->check(CLI::Range(1, 1000));
  generate->add_option("--sampler", generation.sampler, "ddim, ddpm or dpmpp2m")
      ->check(CLI::IsMember({"ddim", "ddpm", "dpmpp2m"}));
  generate->add_option("--guidance", generation.guidance, "Guidance scale (1: none)")
      ->check(CLI::Range(0.0, 100.0));
  generate->add_option("--parity", generation.parity, "auto, official or diffusers")
      ->check(CLI::IsMember({"auto", "official", "diffusers"}));
  generate->add_option("--precision", generation.precision, "fp64, fp32, tf32, fp16 or bf16");
  generate->add_option("--threads", generation.threads, "CPU threads")->check(CLI::Range(1, 4096));
  generate->add_option("--worker", generation.worker, "dit-worker to run (default: beside dit-ar)");
  auto* topology = add("topology", "GPUs, links and NCCL settings, of this machine or of a file",
                       "topology\ntopology --probe\ntopology --from topo.txt --svg links.svg",
                       DITAR_RUN(run_topology, topology));
  topology->add_option("--from", options_->topology.from,
                       "Saved JSON, or what nvidia-smi topo -m, -L or nvlink -s printed");
  topology->add_option("--svg", options_->topology.svg, "Picture to write");
  topology->add_flag("--probe", options_->topology.probe,
                     "Have dit-worker measure the links, every byte looked at");
  topology->add_option("--worker", options_->topology.worker,
                       "dit-worker that measures (default: beside dit-ar)");
  auto* profile = add("profile", "Where a step's time goes, measured here or modelled for a GPU",
                      "profile --model config/models/mnist-dit.safetensors\n"
                      "profile --model-of \"NVIDIA RTX A5500\" --image 256 --batch 2",
                      DITAR_RUN(run_profile, profile));
  const auto forward = [&](const char* name, const char* what) {
    profile->add_option(name, options_->profile.values[name], what);
  };
  forward("--model", "Checkpoint to measure");
  forward("--device", "cpu (default) or cuda");
  forward("--precision", "fp64, fp32, tf32, fp16 or bf16 (default: fp32 on the cpu, else fp16)");
  forward("--knobs", "Engine knobs (config/engine.json)");
  forward("--threads", "CPU threads (default: 1)");
  forward("--images", "Images a request (default: 1)");
  forward("--guidance", "Guidance scale (default: 1.5; 1: none)");
  forward("--steps", "Sampling steps (default: 10)");
  forward("--sampler", "ddim (default), ddpm or dpmpp2m");
  forward("--repeats", "Repeats of the profiled step (default: 20)");
  forward("--model-of", "Predict for this GPU, by its full name");
  forward("--architecture", "To predict: DiT-S/2 ... DiT-XL/8 (default: DiT-XL/2)");
  forward("--image", "To predict: pixels of a side (default: 256)");
  forward("--batch", "To predict: rows, both branches of guidance counted (default: 2)");
  forward("--clock-mhz", "To predict: clock (default: boost)");
  profile->add_option("--worker", options_->profile.worker,
                      "dit-worker to run (default: beside dit-ar)");
  auto* completion = app_.add_subcommand("completion", "Print a completion script for the shell");
  completion->footer(
      footer_of("completion bash > ~/.local/share/bash-completion/completions/dit-ar"));
  completion->add_option("shell", options_->shell, "bash")->check(CLI::IsMember({"bash"}));
  completion->callback([this] { invocation_.command = "completion"; });
}

#undef DITAR_RUN

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<CommandWords> command_words(CLI::App& app) {
  std::vector<CommandWords> words{{"", option_names(app)}};
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    words.push_back({sub->get_name(), option_names(*sub)});
  }
  return words;
}

/// Index in `arguments` of the command's name, or size() if there is none.
std::size_t command_index(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config") {
      ++i;
    } else if (arguments[i].empty() || arguments[i][0] != '-') {
      return i;
    }
  }
  return arguments.size();
}

[[noreturn]] void refuse_word(CLI::App& app, const std::string& word, const std::string& command) {
  std::vector<std::string> known;
  const bool is_option = !word.empty() && word[0] == '-';
  for (const CommandWords& words : command_words(app)) {
    if (!is_option && !words.command.empty() && command.empty()) known.push_back(words.command);
    if (is_option && (words.command.empty() || words.command == command)) {
      known.insert(known.end(), words.options.begin(), words.options.end());
    }
  }
  const std::string near = nearest_word(word.substr(0, word.find('=')), known);
  std::string text = is_option ? "unknown option '" + word + "'" : "unexpected word '" + word + "'";
  if (command.empty() && !is_option) text = "unknown command '" + word + "'";
  if (!command.empty()) text += " for " + command;
  text += near.empty() ? "" : "; did you mean '" + near + "'?";
  text += " See: dit-ar " + (command.empty() ? std::string() : command + " ") + "--help";
  throw InvalidArgument(text);
}

/// The words of a search are taken as they are, whatever they look like.
std::vector<std::string> take_search_words(std::vector<std::string>& arguments, std::size_t at) {
  std::vector<std::string> words,
      kept(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  for (std::size_t i = at + 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json" || word == "--verbose" || word == "--help" || word == "-h") {
      kept.push_back(word);
    } else if ((word == "--limit" || word == "--config") && i + 1 < arguments.size()) {
      kept.push_back(word);
      kept.push_back(arguments[++i]);
    } else {
      words.push_back(word);
    }
  }
  arguments = std::move(kept);
  return words;
}

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.add_option("--config", global.config,
                 "Settings file (default: config/autoresearch.json of this repository)");
  app.add_flag("--json", global.json, "Exactly one JSON document on stdout, errors too");
  app.add_flag("--verbose", global.verbose, "Say more on stderr");
  app.set_version_flag("--version", "dit-ar " + std::string(version()));
  app.footer(std::string("Start: doctor, init, baseline; then edit, commit, experiment.\n\n") +
             kExitCodes);
}

}  // namespace

Invocation parse_command_line(const std::vector<std::string>& arguments) {
  // The callbacks point into the invocation that is returned, so it must not move: it lives on the
  // heap and the returned copy only forwards to it.
  auto invocation = std::make_shared<Invocation>();
  auto options = std::make_shared<AllOptions>();
  CLI::App app("Benchmarks candidate commits of a DiT engine and keeps the faster ones", "dit-ar");
  app.fallthrough();
  app.allow_extras();
  app.require_subcommand(0, 1);
  add_global_options(app, invocation->global);
  Builder builder(app, *invocation, options);
  builder.add_all();

  std::vector<std::string> rest = arguments;
  const std::size_t at = command_index(rest);
  std::string command;
  if (at < rest.size()) {
    command = rest[at];
    const auto words = command_words(app);
    if (std::none_of(words.begin(), words.end(),
                     [&](const CommandWords& entry) { return entry.command == command; })) {
      refuse_word(app, command, "");
    }
    if (command == "search") options->search.words = take_search_words(rest, at);
  }
  const std::vector<std::string> search_words = options->search.words;
  std::reverse(rest.begin(), rest.end());
  try {
    app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    Invocation help;
    help.text = app.help();
    return help;
  } catch (const CLI::CallForVersion&) {
    Invocation text;
    text.text = "dit-ar " + std::string(version()) + "\n";
    return text;
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(std::string(error.what()) + ". See: dit-ar " +
                          (command.empty() ? std::string() : command + " ") + "--help");
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) refuse_word(app, extras.front(), command);
  if (command == "search") options->search.words = search_words;

  Invocation result;
  result.global = invocation->global;
  result.command = invocation->command;
  if (command.empty()) result.text = app.help();
  if (command == "completion") result.text = bash_completion(command_words(app));
  if (invocation->run) {
    result.run = [invocation](Console& console) { return invocation->run(console); };
  }
  return result;
}

}  // namespace ditar
