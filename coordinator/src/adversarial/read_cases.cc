#include "adversarial/judge_case.h"
#include "ditar/config/error.h"
#include "ditar/config/json_document.h"
#include "ditar/coordinator/adversarial.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace ditar {
namespace {

using nlohmann::json;

std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw DataError(file.string() + " cannot be read; restore it with git checkout");
  return {std::istreambuf_iterator<char>(stream), {}};
}

void check_keys(const json& body, const std::filesystem::path& file) {
  static const std::set<std::string> kKnown = {
      "what",    "kind",  "classification", "expected", "edits", "knobs",
      "not_run", "links", "environment",    "because",  "act"};
  for (const auto& [key, value] : body.items()) {
    if (!kKnown.contains(key)) throw DataError(file.string() + ": unknown key \"" + key + "\"");
  }
}

std::map<std::string, std::string> texts(const json& body, const char* key) {
  std::map<std::string, std::string> out;
  const json values = body.value(key, json::object());
  for (const auto& [name, value] : values.items()) {
    out[name] = std::string(key) == "knobs" ? value.dump() : value.get<std::string>();
  }
  return out;
}

AdversarialCase read_case(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "case.json";
  AdversarialCase out;
  try {
    const json body = json::parse(text_of_file(file));
    check_keys(body, file);
    out.name = folder.filename().string();
    out.what = body.at("what").get<std::string>();
    out.kind = body.at("kind").get<std::string>();
    out.classification = body.value("classification", "exact");
    out.expected = body.at("expected").get<std::vector<std::string>>();
    out.not_run = body.value("not_run", "");
    out.because = body.value("because", std::vector<std::string>{});
    for (const json& edit : body.value("edits", json::array())) {
      out.edits.push_back({edit.at("file").get<std::string>(), edit.value("find", ""),
                           edit.value("replace", ""), edit.value("append", "")});
    }
    out.knobs = texts(body, "knobs");
    out.links = texts(body, "links");
    out.environment = texts(body, "environment");
    out.act = body.value("act", "");
  } catch (const json::exception& error) {
    throw DataError(file.string() + ": " + error.what());
  }
  if (out.kind != "cheat" && out.kind != "honest") {
    throw DataError(file.string() + ": kind is \"cheat\" or \"honest\", not \"" + out.kind + "\"");
  }
  if (!is_act(out.act)) throw DataError(file.string() + ": unknown act \"" + out.act + "\"");
  if (std::filesystem::exists(folder / "engine.cc")) {
    out.engine = text_of_file(folder / "engine.cc");
  }
  return out;
}

std::string case_row(const AdversarialCase& one) {
  const auto joined = [](const std::vector<std::string>& words, const char* quote) {
    std::string text;
    for (const std::string& word : words)
      text += (text.empty() ? "" : " or ") + (quote + word + quote);
    return text;
  };
  std::string row = "| " + one.name + " | " + one.what + " | ";
  row += one.not_run.empty() ? joined(one.because, "\"") : one.not_run;
  return row + " | " + joined(one.expected, "") + " |";
}

}  // namespace

std::vector<std::string> case_table(const std::vector<AdversarialCase>& cases) {
  std::vector<std::string> lines = {"| case | what it does | flagged by | verdict |",
                                    "|---|---|---|---|"};
  for (const AdversarialCase& one : cases) lines.push_back(case_row(one));
  return lines;
}

std::vector<AdversarialCase> read_cases(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw DataError(folder.string() + " is missing; restore it with git checkout");
  }
  std::vector<AdversarialCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) cases.push_back(read_case(entry.path()));
  }
  // A kept honest change moves the best, on which the next commit would have to stand: last.
  const auto rank = [](const AdversarialCase& one) {
    const bool keeps =
        std::find(one.expected.begin(), one.expected.end(), "KEEP") != one.expected.end();
    return std::pair(keeps ? 2 : one.kind == "honest" ? 1 : 0, one.name);
  };
  std::sort(cases.begin(), cases.end(),
            [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return cases;
}

}  // namespace ditar
