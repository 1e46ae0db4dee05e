#include "search_figures.h"

#include "ditar/knowledge/search.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <functional>
#include <stdexcept>

namespace ditar::testing {
namespace {

using Json = nlohmann::json;

struct Answer {
  bool support = false;
  std::vector<std::string> paths;
};
using Ranking = std::function<Answer(const std::string&)>;

void count(RankingFigures& figures, const JudgedQuery& query, const Answer& answer) {
  if (query.kind == "unsupported") {
    ++figures.unsupported;
    figures.false_support += answer.support ? 1 : 0;
    return;
  }
  ++figures.queries;
  figures.ndcg += ndcg_at_5(query, answer.paths);
  figures.best_first += best_first(query, answer.paths) ? 1 : 0;
  figures.missed += answer.support ? 0 : 1;
}

void finish(RankingFigures& figures) {
  if (figures.queries > 0) figures.ndcg /= figures.queries;
}

void measure_set(const QuerySet& set, const std::string& name, const Ranking& ranking,
                 std::vector<RankingFigures>& out) {
  RankingFigures all{set.name, "", name};
  std::map<std::string, RankingFigures> kinds;
  for (const JudgedQuery& query : set.queries) {
    const Answer answer = ranking(query.text);
    count(all, query, answer);
    RankingFigures& kind = kinds[query.kind];
    kind.set = set.name;
    kind.kind = query.kind;
    kind.ranking = name;
    count(kind, query, answer);
  }
  finish(all);
  out.push_back(all);
  if (name != "dit-ar search") return;  // by kind for ours only
  for (auto& [kind, figures] : kinds) {
    if (kind == "unsupported") continue;
    finish(figures);
    out.push_back(figures);
  }
}

}  // namespace

std::vector<QuerySet> query_sets(const std::filesystem::path& source_dir) {
  const auto folder = source_dir / "tests" / "knowledge";
  return {{"open", load_queries(folder / "queries.json")},
          {"reworded", load_queries(folder / "reworded_queries.json")},
          {"held out", load_queries(folder / "held_out_queries.json")},
          {"fresh", load_queries(folder / "fresh_queries.json")},
          {"unseen", load_queries(folder / "unseen_queries.json")},
          {"last", load_queries(folder / "last_queries.json")}};
}

std::vector<RankingFigures> measure(const std::filesystem::path& handbook,
                                    const std::vector<QuerySet>& sets) {
  const Search search(handbook);
  const PlainRivals rivals(load_pages(handbook));
  const Ranking ours = [&](const std::string& text) {
    const SearchAnswer found = search.query(text, 5);
    Answer answer{found.support, {}};
    for (const SearchResult& result : found.results) answer.paths.push_back(result.path);
    return answer;
  };
  const auto plain = [](std::vector<std::string> paths) {
    const bool any = !paths.empty();
    return Answer{any, std::move(paths)};
  };
  std::vector<RankingFigures> out;
  for (const QuerySet& set : sets) {
    measure_set(set, "dit-ar search", ours, out);
    measure_set(
        set, "BM25 over files", [&](const std::string& text) { return plain(rivals.bm25(text)); },
        out);
    measure_set(
        set, "grep over files", [&](const std::string& text) { return plain(rivals.grep(text)); },
        out);
  }
  return out;
}

std::string list_misses(const std::filesystem::path& handbook, const std::vector<QuerySet>& sets) {
  const Search search(handbook);
  std::string out;
  for (const QuerySet& set : sets) {
    if (set.name == "held out" || set.name == "last") continue;  // nobody looks at these
    for (const JudgedQuery& query : set.queries) {
      const SearchAnswer found = search.query(query.text, 5);
      std::vector<std::string> paths;
      for (const SearchResult& result : found.results) paths.push_back(result.path);
      const bool supported = query.kind != "unsupported";
      if (found.support == supported && (!supported || best_first(query, paths))) continue;
      out += set.name + ", " + query.kind + ": " + query.text + "\n  " +
             (found.support ? "first: " : "no support, first: ") +
             (paths.empty() ? "nothing" : paths.front()) + "; " + found.evidence + '\n';
    }
  }
  return out;
}

Json to_json(const std::vector<RankingFigures>& figures) {
  Json out = Json::array();
  for (const RankingFigures& f : figures) {
    out.push_back({{"set", f.set},
                   {"kind", f.kind},
                   {"ranking", f.ranking},
                   {"queries", f.queries},
                   {"ndcg_at_5", f.ndcg},
                   {"best_first", f.best_first},
                   {"unsupported", f.unsupported},
                   {"false_support", f.false_support},
                   {"missed", f.missed}});
  }
  return out;
}

std::vector<RankingFigures> figures_from(const Json& document) {
  std::vector<RankingFigures> out;
  for (const Json& entry : document) {
    out.push_back({entry.at("set"), entry.at("kind"), entry.at("ranking"), entry.at("queries"),
                   entry.at("ndcg_at_5"), entry.at("best_first"), entry.at("unsupported"),
                   entry.at("false_support"), entry.at("missed")});
  }
  return out;
}

std::string to_markdown(const std::vector<RankingFigures>& figures) {
  std::string out =
      "| set | ranking | queries | nDCG@5 | best page first | support claimed wrongly | support "
      "missed |\n|---|---|---|---|---|---|---|\n";
  for (const RankingFigures& f : figures) {
    char text[256];
    const std::string support =
        f.kind.empty() ? std::to_string(f.false_support) + " of " + std::to_string(f.unsupported)
                       : "";
    std::snprintf(text, sizeof text, "| %s | %s%s%s | %d | %.3f | %.0f %% | %s | %d |\n",
                  f.set.c_str(), f.ranking.c_str(), f.kind.empty() ? "" : ": ", f.kind.c_str(),
                  f.queries, f.ndcg, f.queries > 0 ? 100.0 * f.best_first / f.queries : 0.0,
                  support.c_str(), f.missed);
    out += text;
  }
  return out;
}

std::string with_record(const std::string& page, const std::string& table) {
  const std::string open = "<!-- record: search-quality -->";
  const std::size_t at = page.find(open);
  const std::size_t end = at == std::string::npos ? at : page.find("<!-- end -->", at);
  if (end == std::string::npos) throw std::runtime_error("no marker " + open + " ... end");
  return page.substr(0, at + open.size()) + "\n\n" + table + "\n" + page.substr(end);
}

}  // namespace ditar::testing
