#include "ditar/coordinator/attempts.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <unordered_map>

namespace ditar {
namespace {

using nlohmann::json;

std::optional<double> number_at(const json& body, const char* key) {
  const auto it = body.find(key);
  if (it == body.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

Attempt from_intent(const json& body, const Record& record) {
  Attempt out;
  out.id = body.value("id", "");
  out.session = body.value("session", "");
  out.lane = body.value("lane", "");
  out.commit = body.value("commit", "");
  out.parent = body.value("parent", "");
  out.change_id = body.value("change_id", "");
  out.classification = body.value("classification", "");
  out.description = body.value("description", "");
  out.expect = body.value("expect", "");
  out.cites = body.value("cites", std::vector<std::string>{});
  out.supported = body.value("supported", true);
  out.t_wall_ns = record.t_wall_ns;
  return out;
}

void take_verdict(Attempt& out, const json& body) {
  out.verdict = body.value("verdict", "");
  out.reason = body.value("reason", "");
  out.why = body.value("why", "");
  out.next_step = body.value("next_step", "");
  out.phase_shift = body.value("phase_shift", "");
  out.metric_seconds = number_at(body, "metric_seconds");
  out.memory_bytes =
      number_at(body, body.contains("metric_bytes") ? "metric_bytes" : "memory_bytes");
  out.speedup_percent = number_at(body, "speedup_percent");
  out.low_percent = number_at(body, "speedup_low_percent");
  out.high_percent = number_at(body, "speedup_high_percent");
  out.audited_class = body.value("audited_class", "");
  out.audit = body.value("audit", std::vector<std::string>{});
  out.quality = quality_use_from(body);
  out.receipt = body.value("receipt", "");
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::vector<Attempt> attempts_of(const std::vector<Record>& records) {
  std::vector<Attempt> out;
  std::unordered_map<std::string, std::size_t> index;
  for (const Record& record : records) {
    if (record.type != "intent" && record.type != "verdict" && record.type != "abandoned" &&
        record.type != "baseline") {
      continue;
    }
    const json body = json::parse(record.body, nullptr, false);
    if (!body.is_object()) continue;
    const std::string id = body.value("id", "");
    if (record.type == "intent") {
      index[id] = out.size();
      out.push_back(from_intent(body, record));
    } else if (record.type == "baseline") {
      if (!body.value("ok", false)) continue;
      Attempt attempt = from_intent(body, record);
      take_verdict(attempt, body);
      attempt.id = "baseline";
      attempt.verdict = "BASELINE";
      out.push_back(attempt);
    } else if (const auto found = index.find(id); found != index.end()) {
      if (record.type == "verdict") {
        take_verdict(out[found->second], body);
      } else {
        out[found->second].verdict = "ABANDONED";
        out[found->second].why = body.value("reason", "");
      }
    }
  }
  return out;
}

std::vector<Attempt> attempts_of(const std::vector<Record>& records, const std::string& session) {
  std::vector<Attempt> out = attempts_of(records);
  std::erase_if(out, [&](const Attempt& attempt) { return attempt.session != session; });
  return out;
}

std::vector<ResultRow> result_rows(const std::vector<Attempt>& attempts) {
  std::vector<ResultRow> rows;
  for (const Attempt& attempt : attempts) {
    const bool judged = attempt.verdict == "KEEP" || attempt.verdict == "DISCARD" ||
                        attempt.verdict == "CRASH" || attempt.verdict == "BASELINE";
    if (!judged) continue;
    ResultRow row;
    row.commit = attempt.commit;
    row.status = attempt.verdict == "BASELINE" ? "keep" : lower(attempt.verdict);
    if (attempt.verdict != "CRASH") row.metric = attempt.metric_seconds;
    if (attempt.memory_bytes) row.memory_gb = *attempt.memory_bytes / 1e9;
    row.description = attempt.verdict == "BASELINE" ? "baseline" : attempt.description;
    row.lane = attempt.lane;
    row.classification = attempt.classification;
    row.reason = attempt.reason;
    rows.push_back(row);
  }
  return rows;
}

const Attempt& find_attempt(const std::vector<Attempt>& attempts, const std::string& name) {
  std::vector<const Attempt*> found;
  for (const Attempt& attempt : attempts) {
    if (name == "last" && attempt.id != "baseline") {
      found.assign(1, &attempt);
      continue;
    }
    const bool digits = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    const std::size_t dash = attempt.id.rfind('-');
    const bool by_number = digits && name.size() < 6 && dash != std::string::npos &&
                           std::atoi(attempt.id.c_str() + dash + 1) == std::atoi(name.c_str());
    const bool by_commit = name.size() >= 6 && attempt.commit.starts_with(name);
    if (attempt.id == name || by_number || by_commit) found.push_back(&attempt);
  }
  if (found.empty()) {
    throw InvalidArgument("no experiment '" + name +
                          "'; list them with: dit-ar log (ids, numbers, commits or \"last\")");
  }
  return *found.back();
}

int crashes_of(const std::vector<Attempt>& attempts, const std::string& parent,
               const std::string& description) {
  return static_cast<int>(
      std::count_if(attempts.begin(), attempts.end(), [&](const Attempt& attempt) {
        return attempt.verdict == "CRASH" && attempt.parent == parent &&
               attempt.description == description;
      }));
}

std::string step_after_crash(const std::string& reason, int crashes) {
  const std::string discard = "git reset --hard HEAD^ (or dit-ar discard)";
  const int left = kMendsOfACrash + 1 - crashes;
  if (left <= 0) return "it was mended twice and still crashes: " + discard;
  const std::string tries = left == 1 ? "1 try is left" : std::to_string(left) + " tries are left";
  if (reason == "build") {
    return "this looks trivial: mend it, git commit --amend, run again with the same description "
           "(" +
           tries + "); if it is not: " + discard;
  }
  return "this does not look trivial: " + discard +
         "; only if the mistake is plain: mend it, git commit --amend, run again (" + tries + ")";
}

std::vector<std::string> untried_exact_rungs(const std::vector<Attempt>& attempts) {
  // The order of priorities of program.md; a rung counts as tried when a description names it.
  struct Rung {
    const char* name;
    std::array<const char*, 3> words;
  };
  static constexpr std::array<Rung, 6> kRungs = {{
      {"attention backend for the exact shape", {"attention", "softmax", "atenci"}},
      {"fusion of norm, modulation and pointwise operations", {"fus", "norm", "modul"}},
      {"GEMM algorithm, blocking and layout", {"gemm", "matmul", "block"}},
      {"work hoisted out of the step loop", {"hoist", "precomput", "table"}},
      {"transfers and copies removed", {"cop", "transfer", "alloc"}},
      {"threads and scheduling", {"thread", "schedul", "omp"}},
  }};
  std::vector<std::string> out;
  for (const Rung& rung : kRungs) {
    const bool tried = std::any_of(attempts.begin(), attempts.end(), [&](const Attempt& attempt) {
      const std::string text = lower(attempt.description);
      return attempt.classification == "exact" &&
             std::any_of(rung.words.begin(), rung.words.end(),
                         [&](const char* word) { return text.find(word) != std::string::npos; });
    });
    if (!tried) out.emplace_back(rung.name);
  }
  return out;
}

std::string next_step_after(const std::vector<Attempt>& attempts) {
  const std::vector<std::string> rungs = untried_exact_rungs(attempts);
  if (!rungs.empty()) {
    return "try an exact change first: " + rungs.front() + " (dit-ar search \"" + rungs.front() +
           "\")";
  }
  return "every exact rung was tried once; profile the best commit and attack its largest phase";
}

std::string seconds_text(double seconds) {
  char text[64];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  } else if (seconds < 1.0) {
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  }
  return text;
}

}  // namespace ditar
