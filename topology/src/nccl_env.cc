// Parsing rules as read in NCCL 2.30's sources: levels by strcmp or a leading digit; whole numbers
// by strtoll; algorithm and protocol lists token by token.
#include "ditar/topology/nccl_env.h"

#include "text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace ditar {
namespace {

using text::is_number;
using text::split;
using text::trim;

std::string upper(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

bool is_one_of(std::string_view word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Verdict {
  FindingKind kind;
  std::string message;
};

Verdict good() { return {FindingKind::kNote, ""}; }

Verdict check_level(const std::string& name, const std::string& value) {
  const std::string all =
      name == "NCCL_P2P_LEVEL" ? "LOC, NVL, PIX, PXB, PHB, SYS" : "LOC, PIX, PXB, PHB, SYS";
  if (is_one_of(value, {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS"})) return good();
  if (!value.empty() && value[0] >= '0' && value[0] <= '9') {
    return {FindingKind::kNote, "an old numeric level (0 LOC, 1 PIX, 2 PXB, 3 PHB, 4 or more SYS)"};
  }
  const std::string capital = upper(value);
  const bool near = is_one_of(capital, {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS"});
  return {FindingKind::kIgnored,
          near ? "NCCL compares case: write " + capital : "not a level; there are " + all};
}

Verdict check_whole_number(const std::string& value) {
  char* end = nullptr;
  std::strtoll(value.c_str(), &end, 0);
  if (!value.empty() && *end == '\0') return good();
  return {FindingKind::kIgnored, end == value.c_str()
                                     ? "not a whole number: NCCL reads 0 or its default"
                                     : "text after the number is dropped"};
}

Verdict check_switch(const std::string& name, const std::string& value) {
  if (value == "0" || value == "1") return good();
  if (check_whole_number(value).kind != FindingKind::kNote) {
    return {FindingKind::kIgnored, "words such as \"true\" read as 0: write 1 or 0"};
  }
  // These two are compared with 1; any other switch takes every number but 0 for on.
  if (is_one_of(name, {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"})) {
    return {FindingKind::kIgnored, "only the value 1 switches it on"};
  }
  return good();
}

Verdict check_list(const std::string& value, std::initializer_list<const char*> words,
                   const std::string& all) {
  for (const std::string& part : split(value, ';')) {
    std::string_view list = trim(part);
    if (const auto colon = list.find(':'); colon != std::string_view::npos) {
      list.remove_prefix(colon + 1);
    }
    if (!list.empty() && list.front() == '^') list.remove_prefix(1);
    for (const std::string& word : split(list, ',')) {
      const bool known = std::any_of(words.begin(), words.end(), [&](const char* candidate) {
        return upper(word) == upper(candidate);
      });
      if (!known) {
        return {FindingKind::kRefused,
                text::quote(word) +
                    " is unknown and NCCL stops with an invalid-usage error; there "
                    "are " +
                    all};
      }
    }
  }
  return good();
}

Verdict check_algorithm(const std::string& value) {
  const Verdict list = check_list(
      value, {"Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"},
      "Tree, Ring, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT");
  if (list.kind == FindingKind::kNote && upper(value) == "TREE") {
    return {FindingKind::kHarmful, "for two ranks Ring is faster than Tree at every size"};
  }
  return list;
}

Verdict check_debug(const std::string& value) {
  if (is_one_of(upper(value), {"VERSION", "WARN", "INFO", "ABORT", "TRACE", "NONE"})) return good();
  return {FindingKind::kIgnored, "not a level; there are VERSION, WARN, INFO, ABORT, TRACE"};
}

Verdict check_file(const std::string& value) {
  std::error_code error;
  if (std::filesystem::is_regular_file(value, error)) return good();
  return {FindingKind::kIgnored, "the file is not there, so the topology is detected anew"};
}

Verdict check_one(const std::string& name, const std::string& value) {
  if (is_one_of(name, {"NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL"})) return check_level(name, value);
  if (name == "NCCL_ALGO") return check_algorithm(value);
  if (name == "NCCL_PROTO")
    return check_list(value, {"LL", "LL128", "Simple"}, "LL, LL128, Simple");
  if (name == "NCCL_DEBUG") return check_debug(value);
  if (name == "NCCL_TOPO_FILE" || name == "NCCL_GRAPH_FILE") return check_file(value);
  if (is_one_of(name, {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
                       "NCCL_IGNORE_CPU_AFFINITY", "NCCL_MULTI_RANK_GPU_ENABLE",
                       "NCCL_IGNORE_DISABLED_P2P", "NCCL_RAS_ENABLE", "NCCL_GRAPH_MIXING_SUPPORT",
                       "NCCL_GRAPH_REGISTER", "NCCL_RUNTIME_CONNECT"})) {
    return check_switch(name, value);
  }
  if (is_one_of(name, {"NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                       "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_CUMEM_ENABLE",
                       "NCCL_CUMEM_HOST_ENABLE", "NCCL_P2P_LL_THRESHOLD", "NCCL_NVLS_ENABLE"})) {
    return check_whole_number(value);
  }
  return good();
}

}  // namespace

std::string_view to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::kIgnored:
      return "is ignored";
    case FindingKind::kRefused:
      return "is refused";
    case FindingKind::kHarmful:
      return "is harmful";
    case FindingKind::kNote:
      break;
  }
  return "is set";
}

std::vector<NcclFinding> lint_nccl(const NcclSettings& settings, const std::string& where) {
  std::vector<NcclFinding> findings;
  for (const auto& [name, value] : settings) {
    if (name.rfind("NCCL_", 0) != 0) {
      if (upper(name).rfind("NCCL_", 0) == 0) {
        findings.push_back({FindingKind::kIgnored, name, value, where,
                            "names are upper case: write " + upper(name)});
      }
      continue;
    }
    Verdict verdict = check_one(name, value);
    if (verdict.kind == FindingKind::kNote && trim(value).size() != value.size()) {
      verdict = {FindingKind::kIgnored, "blanks around the value belong to it"};
    }
    findings.push_back({verdict.kind, name, value, where, std::move(verdict.message)});
  }
  return findings;
}

NcclSettings nccl_settings_of(const char* const* environment) {
  NcclSettings settings;
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(0, equals));
    if (upper(name).rfind("NCCL_", 0) == 0) settings[name] = entry.substr(equals + 1);
  }
  return settings;
}

std::vector<NcclFinding> lint_nccl_conf(std::string_view content, const std::string& file) {
  std::vector<NcclFinding> findings;
  const auto all = text::lines(content);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string where = file + ":" + std::to_string(i + 1);
    std::string_view line = all[i];
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      findings.push_back(
          {FindingKind::kIgnored, std::string(line), "", where, "a line without '=' sets nothing"});
      continue;
    }
    const NcclSettings one{
        {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1))}};
    auto found = lint_nccl(one, where);
    if (found.empty()) {
      found.push_back({FindingKind::kIgnored, one.begin()->first, one.begin()->second, where,
                       "not a variable of NCCL"});
    }
    findings.push_back(std::move(found.front()));
  }
  return findings;
}

std::vector<NcclFinding> read_nccl_files(const std::vector<std::filesystem::path>& files) {
  std::vector<NcclFinding> findings;
  for (const auto& path : files) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, error)) {
      findings.push_back({FindingKind::kIgnored, "", "", path.string(), "cannot be read"});
      continue;
    }
    const std::string content{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
    for (auto& finding : lint_nccl_conf(content, path.string())) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

std::vector<std::filesystem::path> nccl_conf_files() {
  std::vector<std::filesystem::path> files;
  if (const char* named = std::getenv("NCCL_CONF_FILE"); named && *named) {
    files.emplace_back(named);
  } else if (const char* home = std::getenv("HOME"); home && *home) {
    files.push_back(std::filesystem::path(home) / ".nccl.conf");
  }
  files.emplace_back("/etc/nccl.conf");
  return files;
}

std::string nccl_report(const std::vector<NcclFinding>& findings) {
  std::string report;
  for (const NcclFinding& finding : findings) {
    report += finding.where + ": ";
    if (!finding.variable.empty()) {
      report += finding.variable + (finding.value.empty() ? "" : "=" + finding.value) + ' ' +
                std::string(to_string(finding.kind));
      if (!finding.message.empty()) report += ": ";
    }
    report += finding.message + '\n';
  }
  return report;
}

}  // namespace ditar
