// Every command of dit-ar as a plain function: options in, exit code out. Results go through the
// Console; faults are exceptions of ditar/config/error.h. One thread calls; nothing here knows the
// command-line parser.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ditar {

class Console;

/// Options that every command takes.
struct GlobalOptions {
  std::string config;  ///< empty: config/autoresearch.json below the repository's root
  bool json = false;
  bool verbose = false;
};

struct DoctorOptions {
  bool quick = false;              ///< skip the hashes of weights
  bool adversarial = false;        ///< run the adversarial suite instead
  std::vector<std::string> cases;  ///< of the suite; empty: all
  bool table = false;              ///< print what the suite expects, run nothing
};
struct InitOptions {
  std::string lane;  ///< empty: the configuration's choice for this hardware
};
struct BaselineOptions {};
struct CheckOptions {
  bool build = true;
};
struct ExperimentOptions {
  std::string classification;
  std::string description;
  std::string expect;
  std::vector<std::string> cite;
  bool again = false;
};
struct LogOptions {
  int limit = 20;
  std::string status;  ///< empty: all; else keep, discard, crash, ...
};
struct ShowOptions {
  std::string id;  ///< experiment id, commit prefix, or "last"
};
struct CompareOptions {
  std::string first, second;
};
struct ReportOptions {
  std::string out;  ///< folder; empty: .autoresearch/report
};
struct SearchOptions {
  std::vector<std::string> words;
  int limit = 5;
};
struct GenerateOptions {
  std::string labels = "0-9";
  std::uint64_t seed = 0;
  std::string out = "grid.png";
  std::string npz;
  std::string model;  ///< empty: the lane's
  std::string lane;   ///< empty: the session's, else the configuration's choice
  int steps = 0;      ///< 0: the lane's
  std::string sampler;
  double guidance = -1.0;  ///< negative: the lane's
  std::string parity = "auto";
  std::string precision;  ///< empty: the lane's
  int threads = 0;        ///< 0: all CPUs
  std::string worker;     ///< empty: dit-worker beside dit-ar
};
struct TopologyOptions {
  std::string from;         ///< saved JSON or a paste of nvidia-smi; empty: this machine
  std::string svg;          ///< picture to write; empty: none
  bool probe = false;       ///< have a worker measure the links of this machine
  std::string worker = {};  ///< empty: dit-worker beside dit-ar
};
struct ProfileCommandOptions {
  std::map<std::string, std::string> values;  ///< options of dit-worker profile; empty: its default
  std::string worker;                         ///< empty: dit-worker beside dit-ar
};
struct VerifyOptions {
  std::string id;          ///< empty: every experiment
  bool remeasure = false;  ///< rebuild `id` from its ref and measure it again; "best": against the
                           ///< original
};

int run_doctor(const GlobalOptions&, const DoctorOptions&, Console&);
int run_init(const GlobalOptions&, const InitOptions&, Console&);
int run_baseline(const GlobalOptions&, const BaselineOptions&, Console&);
int run_check(const GlobalOptions&, const CheckOptions&, Console&);
int run_experiment(const GlobalOptions&, const ExperimentOptions&, Console&);
int run_status(const GlobalOptions&, Console&);
int run_log(const GlobalOptions&, const LogOptions&, Console&);
int run_show(const GlobalOptions&, const ShowOptions&, Console&);
int run_discard(const GlobalOptions&, Console&);
int run_recover(const GlobalOptions&, Console&);
int run_compare(const GlobalOptions&, const CompareOptions&, Console&);
int run_report(const GlobalOptions&, const ReportOptions&, Console&);
int run_search(const GlobalOptions&, const SearchOptions&, Console&);
int run_generate(const GlobalOptions&, const GenerateOptions&, Console&);
/// Needs no repository.
int run_topology(const GlobalOptions&, const TopologyOptions&, Console&);
/// Runs dit-worker profile; needs no repository.
int run_profile(const GlobalOptions&, const ProfileCommandOptions&, Console&);
int run_verify(const GlobalOptions&, const VerifyOptions&, Console&);

}  // namespace ditar
