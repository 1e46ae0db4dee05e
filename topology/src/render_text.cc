#include "ditar/topology/render.h"
#include "ditar/topology/topology_file.h"
#include "render_svg.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace ditar {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

template <typename T>
std::string or_dash(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "-";
}

std::string pcie_text(const PcieState& pcie) {
  return "gen" + or_dash(pcie.gen_now) + " x" + or_dash(pcie.width_now) + " (best gen" +
         or_dash(pcie.gen_best) + " x" + or_dash(pcie.width_best) + ")";
}

using Table = std::vector<std::vector<std::string>>;

void write_table(std::ostream& out, const Table& table) {
  std::vector<std::size_t> widths;
  for (const auto& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : table) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += ' ' + row[c] + std::string(widths[c] - row[c].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string peer_text(const PeerAccess& peer) {
  const bool probed = peer.probed != ProbeResult::kNotProbed;
  const std::string text = std::string(to_string(peer.declared)) + (probed ? ", probe " : ", ") +
                           std::string(to_string(peer.probed));
  return peer.reason.empty() ? text : text + " (" + peer.reason + ")";
}

std::vector<std::string> cost_cells(const LinkCost& cost) {
  std::ostringstream alpha, bandwidth, residual;
  alpha << std::fixed << std::setprecision(1) << cost.alpha_us;
  bandwidth << std::fixed << std::setprecision(1) << cost.bandwidth_gb_per_s;
  residual << std::fixed << std::setprecision(0) << 100.0 * cost.residual << " %";
  return {alpha.str(), bandwidth.str(), residual.str(), std::string(to_string(cost.origin))};
}

void write_gpus(std::ostream& out, const TopologyGraph& graph) {
  Table table{{"GPU", "host", "name", "PCI", "NUMA", "PCIe", "UUID"}};
  for (const Gpu& gpu : graph.gpus) {
    const Host& host = graph.hosts[static_cast<std::size_t>(gpu.host)];
    table.push_back({std::to_string(gpu.index),
                     host.name.empty() ? std::to_string(gpu.host) : host.name, or_dash(gpu.name),
                     or_dash(gpu.pci),
                     gpu.numa ? std::to_string(*gpu.numa) : or_dash(gpu.numa_affinity),
                     pcie_text(gpu.pcie), or_dash(gpu.uuid)});
  }
  out << "GPUs\n";
  write_table(out, table);
}

void write_matrix(std::ostream& out, const TopologyGraph& graph) {
  Table table{{""}};
  for (const Gpu& gpu : graph.gpus) table[0].push_back("GPU" + std::to_string(gpu.index));
  for (const Gpu& row : graph.gpus) {
    table.push_back({"GPU" + std::to_string(row.index)});
    for (const Gpu& column : graph.gpus) {
      const Link* link = graph.find_link(row.index, column.index);
      table.back().push_back(row.index == column.index ? "X" : link ? to_string(link->path) : "?");
    }
  }
  out << "\nPaths\n";
  write_table(out, table);
}

void write_links(std::ostream& out, const TopologyGraph& graph) {
  Table costs{{"what", "GPUs", "us", "GB/s", "residual", "origin"}};
  Table peers{{"pair", "peer access forth", "peer access back"}};
  for (const Link& link : graph.links) {
    const std::string pair = std::to_string(link.a) + "-" + std::to_string(link.b);
    peers.push_back({pair, peer_text(link.a_to_b), peer_text(link.b_to_a)});
    if (!link.cost) continue;
    costs.push_back({"copy over " + to_string(link.path), pair});
    for (auto& cell : cost_cells(*link.cost)) costs.back().push_back(std::move(cell));
  }
  for (const CollectiveCost& entry : graph.collectives) {
    std::string group;
    for (const int gpu : entry.gpus) group += (group.empty() ? "" : "-") + std::to_string(gpu);
    costs.push_back({std::string(to_string(entry.collective)) +
                         (entry.transport.empty() ? "" : " over " + entry.transport),
                     group});
    for (auto& cell : cost_cells(entry.cost)) costs.back().push_back(std::move(cell));
  }
  if (peers.size() > 1) {
    out << "\nPeer access\n";
    write_table(out, peers);
  }
  if (costs.size() > 1) {
    out << "\nCosts: time = us + bytes / (GB/s)\n";
    write_table(out, costs);
  }
}

std::string render_text(const TopologyGraph& graph) {
  std::ostringstream out;
  out << "source: " << or_dash(graph.source) << '\n';
  for (const Host& host : graph.hosts) {
    out << "host: " << or_dash(host.name) << ", CPU " << or_dash(host.cpu_vendor) << ", driver "
        << or_dash(host.driver_version) << '\n';
  }
  if (graph.gpus.empty()) {
    out << "GPUs: none\n";
  } else {
    write_gpus(out, graph);
    if (graph.gpus.size() > 1) write_matrix(out, graph);
    write_links(out, graph);
  }
  if (!graph.notes.empty()) out << "\nNotes\n";
  for (const std::string& note : graph.notes) out << "  - " << note << '\n';
  return out.str();
}

}  // namespace

std::string render(const TopologyGraph& graph, TopologyFormat format) {
  switch (format) {
    case TopologyFormat::kJson:
      return to_topology_json(graph);
    case TopologyFormat::kSvg:
      return render_svg(graph);
    case TopologyFormat::kText:
      break;
  }
  return render_text(graph);
}

}  // namespace ditar
