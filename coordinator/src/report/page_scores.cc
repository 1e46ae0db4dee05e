#include "ditar/coordinator/report.h"

#include <algorithm>
#include <map>
#include <set>

namespace ditar {

std::string page_of_cite(const std::string& cite, const std::string& handbook_prefix) {
  std::string page = cite.substr(0, cite.find_first_of("#:"));
  while (page.starts_with("./")) page.erase(0, 2);
  std::string prefix = handbook_prefix;
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  if (page.starts_with(prefix)) page.erase(0, prefix.size());
  if (!page.empty() && !page.ends_with(".md")) page += ".md";
  return page;
}

std::vector<PageScore> page_scores(const std::vector<Attempt>& attempts) {
  std::map<std::string, PageScore> by_page;
  for (const Attempt& attempt : attempts) {
    const bool kept = attempt.verdict == "KEEP";
    if (!kept && attempt.verdict != "DISCARD" && attempt.verdict != "CRASH") continue;
    std::set<std::string> pages(attempt.cites.begin(), attempt.cites.end());
    if (!attempt.supported) pages.insert("external/new hypothesis");
    for (const std::string& page : pages) {
      PageScore& score = by_page[page];
      score.page = page;
      score.kept += kept ? 1 : 0;
      score.discarded += attempt.verdict == "DISCARD" ? 1 : 0;
      score.crashed += attempt.verdict == "CRASH" ? 1 : 0;
      if (kept && attempt.speedup_percent) {
        score.best_gain_percent = std::max(
            score.best_gain_percent.value_or(*attempt.speedup_percent), *attempt.speedup_percent);
      }
    }
  }
  std::vector<PageScore> out;
  for (const auto& [page, score] : by_page) out.push_back(score);
  std::stable_sort(out.begin(), out.end(), [](const PageScore& a, const PageScore& b) {
    return a.score() != b.score() ? a.score() > b.score() : a.ended() > b.ended();
  });
  return out;
}

}  // namespace ditar
