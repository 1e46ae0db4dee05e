#include "cli/console.h"
#include "commands/commands.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/topology/nccl_env.h"
#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"
#include "ditar/topology_nvml/machine_facts.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ditar {
namespace {

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
  const Subject subject = subject_of(options.from);
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
