#include "ditar/config/error.h"
#include "ditar/topology/topology_file.h"
#include "json_reader.h"

#include <nlohmann/json.hpp>

namespace ditar {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json cost_json(const LinkCost& cost) {
  return {{"latency_us", cost.alpha_us},
          {"bandwidth_gb_per_s", cost.bandwidth_gb_per_s},
          {"residual", cost.residual},
          {"origin", to_string(cost.origin)}};
}

Json peer_json(const PeerAccess& peer) {
  return {{"declared", to_string(peer.declared)},
          {"probed", to_string(peer.probed)},
          {"reason", text_json(peer.reason)}};
}

Json gpu_json(const Gpu& gpu) {
  return {{"index", gpu.index},
          {"host", gpu.host},
          {"uuid", text_json(gpu.uuid)},
          {"pci", text_json(gpu.pci)},
          {"name", text_json(gpu.name)},
          {"numa", optional_json(gpu.numa)},
          {"numa_affinity", text_json(gpu.numa_affinity)},
          {"cpu_affinity", text_json(gpu.cpu_affinity)},
          {"pcie",
           {{"gen_now", optional_json(gpu.pcie.gen_now)},
            {"gen_best", optional_json(gpu.pcie.gen_best)},
            {"width_now", optional_json(gpu.pcie.width_now)},
            {"width_best", optional_json(gpu.pcie.width_best)}}},
          {"memory_bytes", optional_json(gpu.memory_bytes)},
          {"mig", gpu.mig}};
}

Json link_json(const Link& link) {
  return {{"a", link.a},
          {"b", link.b},
          {"path", to_string(link.path)},
          {"nvlinks", link.path.nvlinks},
          {"peer_a_to_b", peer_json(link.a_to_b)},
          {"peer_b_to_a", peer_json(link.b_to_a)},
          {"cost", link.cost ? cost_json(*link.cost) : Json(nullptr)}};
}

template <typename T, typename Parse>
T word(JsonReader& reader, const std::string& key, Parse parse) {
  const std::string text = reader.text(key);
  const auto value = parse(text);
  if (!value) reader.fail(key, "holds the unknown word \"" + text + "\"");
  return *value;
}

LinkCost read_cost(const nlohmann::json& json, const std::string& place) {
  JsonReader reader(json, place);
  LinkCost cost;
  cost.alpha_us = reader.need_real("latency_us");
  cost.bandwidth_gb_per_s = reader.need_real("bandwidth_gb_per_s");
  if (reader.find("residual")) cost.residual = reader.need_real("residual");
  cost.origin = word<Origin>(reader, "origin", parse_origin);
  reader.finish();
  return cost;
}

PeerAccess read_peer(JsonReader& parent, const std::string& key) {
  const auto* json = parent.find(key);
  if (!json) return {};
  JsonReader reader(*json, parent.at(key));
  PeerAccess peer;
  peer.declared = word<PeerStatus>(reader, "declared", parse_peer_status);
  peer.probed = word<ProbeResult>(reader, "probed", parse_probe_result);
  peer.reason = reader.text("reason");
  reader.finish();
  return peer;
}

Host read_host(const nlohmann::json& json, const std::string& place) {
  JsonReader reader(json, place);
  Host host{reader.text("name"), reader.text("cpu_vendor"), reader.text("driver_version")};
  reader.finish();
  return host;
}

Gpu read_gpu(const nlohmann::json& json, const std::string& place) {
  JsonReader reader(json, place);
  Gpu gpu;
  gpu.index = reader.need_small("index");
  gpu.host = reader.small("host").value_or(0);
  gpu.uuid = reader.text("uuid");
  gpu.pci = reader.text("pci");
  gpu.name = reader.text("name");
  gpu.numa = reader.small("numa");
  gpu.numa_affinity = reader.text("numa_affinity");
  gpu.cpu_affinity = reader.text("cpu_affinity");
  if (const auto* pcie = reader.find("pcie")) {
    JsonReader inner(*pcie, place + ".pcie");
    gpu.pcie = {inner.small("gen_now"), inner.small("gen_best"), inner.small("width_now"),
                inner.small("width_best")};
    inner.finish();
  }
  gpu.memory_bytes = reader.integer("memory_bytes");
  gpu.mig = reader.flag("mig");
  reader.finish();
  return gpu;
}

Link read_link(const nlohmann::json& json, const std::string& place) {
  JsonReader reader(json, place);
  Link link;
  link.a = reader.need_small("a");
  link.b = reader.need_small("b");
  link.path = word<Path>(reader, "path", parse_path);
  if (const auto count = reader.small("nvlinks"); count && *count != link.path.nvlinks) {
    reader.fail("nvlinks", "disagrees with path " + to_string(link.path));
  }
  link.a_to_b = read_peer(reader, "peer_a_to_b");
  link.b_to_a = read_peer(reader, "peer_b_to_a");
  if (const auto* cost = reader.find("cost")) link.cost = read_cost(*cost, place + ".cost");
  reader.finish();
  return link;
}

CollectiveCost read_collective(const nlohmann::json& json, const std::string& place) {
  JsonReader reader(json, place);
  CollectiveCost entry;
  entry.collective = word<Collective>(reader, "collective", parse_collective);
  for (const auto& gpu : reader.list("gpus")) {
    if (!gpu.is_number_unsigned() || gpu.get<std::uint64_t>() > 1'000'000) {
      reader.fail("gpus", "must be a list of GPU indices");
    }
    entry.gpus.push_back(gpu.get<int>());
  }
  entry.transport = reader.text("transport");
  entry.cost = read_cost(reader.need("cost"), place + ".cost");
  reader.finish();
  return entry;
}

template <typename T, typename Read>
std::vector<T> read_list(JsonReader& reader, const std::string& key, Read read) {
  std::vector<T> all;
  for (const auto& item : reader.list(key)) {
    all.push_back(read(item, key + "[" + std::to_string(all.size()) + "]"));
  }
  return all;
}

}  // namespace

std::string to_topology_json(const TopologyGraph& graph) {
  Json root = {{"schema", 1}, {"source", text_json(graph.source)}};
  for (const char* key : {"hosts", "gpus", "links", "collectives", "notes"}) {
    root[key] = Json::array();
  }
  for (const Host& host : graph.hosts) {
    root["hosts"].push_back({{"name", text_json(host.name)},
                             {"cpu_vendor", text_json(host.cpu_vendor)},
                             {"driver_version", text_json(host.driver_version)}});
  }
  for (const Gpu& gpu : graph.gpus) root["gpus"].push_back(gpu_json(gpu));
  for (const Link& link : graph.links) root["links"].push_back(link_json(link));
  for (const CollectiveCost& entry : graph.collectives) {
    root["collectives"].push_back({{"collective", to_string(entry.collective)},
                                   {"gpus", entry.gpus},
                                   {"transport", text_json(entry.transport)},
                                   {"cost", cost_json(entry.cost)}});
  }
  for (const std::string& note : graph.notes) root["notes"].push_back(note);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

TopologyGraph from_topology_json(std::string_view text) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw DataError("topology JSON: byte " + std::to_string(error.byte) +
                    ": not valid JSON (truncated?)");
  }
  JsonReader reader(root, "topology JSON");
  if (reader.need_small("schema") != 1) reader.fail("schema", "must be 1");
  TopologyGraph graph;
  graph.source = reader.text("source");
  graph.hosts = read_list<Host>(reader, "hosts", read_host);
  if (!reader.find("gpus")) reader.fail("gpus", "is missing");
  graph.gpus = read_list<Gpu>(reader, "gpus", read_gpu);
  graph.links = read_list<Link>(reader, "links", read_link);
  graph.collectives = read_list<CollectiveCost>(reader, "collectives", read_collective);
  for (const auto& note : reader.list("notes")) {
    if (!note.is_string()) reader.fail("notes", "must be a list of texts");
    graph.notes.push_back(note.get<std::string>());
  }
  reader.finish();
  graph.validate();
  return graph;
}

}  // namespace ditar
