#include "cli/console.h"
#include "commands/commands.h"
#include "commands/worker_call.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/topology/nccl_env.h"
#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"
#include "ditar/topology_nvml/machine_facts.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ditar {
namespace {

constexpr std::chrono::minutes kPatience{5};

struct Subject {
  TopologyGraph graph;
  std::vector<NcclFinding> findings;  ///< of this machine's NCCL settings
};

/// The graph of `file`, or of this machine with the lint of its NCCL settings.
Subject subject_of(const std::string& file) {
  if (!file.empty()) return {load_topology(file), {}};
  MachineFacts facts = read_machine();
  std::vector<NcclFinding> findings = lint_nccl(nccl_settings_of(environ));
  const std::vector<NcclFinding> files = read_nccl_files(nccl_conf_files());
  findings.insert(findings.end(), files.begin(), files.end());
  return {std::move(facts.graph), std::move(findings)};
}

/// A folder of its own for what one worker hands to the next.
class HandOver {
 public:
  HandOver() {
    std::string name = (std::filesystem::temp_directory_path() / "dit-ar-probe-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError("no temporary folder can be made");
    folder_ = name;
  }
  ~HandOver() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;
  std::string write(const TopologyGraph& graph) const {
    const auto path = folder_ / "peers.json";
    std::ofstream(path) << to_topology_json(graph);
    return path.string();
  }

 private:
  std::filesystem::path folder_;
};

/// A worker that refuses a link ends with 1 and still prints the graph, with the reason in it.
TopologyGraph graph_of_probe(const std::filesystem::path& program,
                             const std::vector<std::string>& arguments) {
  const ProcessResult result = call_by_hand(program, arguments, kPatience);
  const std::size_t start = result.output.find('{');
  if (start == std::string::npos) {
    const auto code = static_cast<ExitCode>(result.exit_code == 0 ? 1 : result.exit_code);
    throw Error("probe: " + fault_of(result.errors), code);
  }
  return from_topology_json(result.output.substr(start));
}

/// Peer copies by one process, then pairs and collectives by one rank for each GPU; where there is
/// no GPU, two ranks on CPUs.
TopologyGraph probe(const TopologyGraph& machine, const std::string& named) {
  const std::filesystem::path worker = find_worker(named);
  const std::size_t gpus = machine.gpus.size();
  if (gpus == 0) return graph_of_probe(worker, {"probe", "--json", "--device", "cpu"});
  if (gpus == 1) {
    TopologyGraph alone = machine;
    alone.notes.emplace_back("one GPU has no link to measure");
    return alone;
  }
  const TopologyGraph peers = graph_of_probe(worker, {"probe", "--json", "--device", "cuda"});
  const HandOver hand;
  return graph_of_probe(
      find_program("mpirun"),
      {"-np", std::to_string(gpus), "--bind-to", "none", "--oversubscribe", worker.string(),
       "probe", "--json", "--device", "cuda", "--topology", hand.write(peers)});
}

nlohmann::json document_of(const Subject& subject) {
  nlohmann::json document = nlohmann::json::parse(to_topology_json(subject.graph));
  nlohmann::json findings = nlohmann::json::array();
  for (const NcclFinding& finding : subject.findings) {
    findings.push_back({{"kind", to_string(finding.kind)},
                        {"variable", finding.variable},
                        {"value", finding.value},
                        {"where", finding.where},
                        {"message", finding.message}});
  }
  document["nccl"] = findings;
  return document;
}

}  // namespace

int run_topology(const GlobalOptions&, const TopologyOptions& options, Console& console) {
  require(!options.probe || options.from.empty(),
          "--probe measures this machine, --from reads a file; give one of both");
  Subject subject = subject_of(options.from);
  if (options.probe) {
    const std::vector<std::string> notes = subject.graph.notes;
    subject.graph = probe(subject.graph, options.worker);
    subject.graph.notes.insert(subject.graph.notes.end(), notes.begin(), notes.end());
  }
  if (!options.svg.empty()) {
    write_file_durably(options.svg, render(subject.graph, TopologyFormat::kSvg));
    console.note("wrote " + options.svg);
  }
  console.line(render(subject.graph, TopologyFormat::kText));
  if (!subject.findings.empty()) console.line(nccl_report(subject.findings));
  console.document(document_of(subject));
  return 0;
}

}  // namespace ditar
