// report.md. Pure.
#include "ditar/coordinator/report.h"
#include "report/cells.h"

#include <algorithm>
#include <cstdio>

namespace ditar {
namespace {

std::string fixed_text(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string gain_text(const Attempt& attempt) {
  if (!attempt.speedup_percent) return "-";
  std::string out = fixed_text(*attempt.speedup_percent, 2) + " %";
  if (attempt.low_percent && attempt.high_percent) {
    out += " (" + fixed_text(*attempt.low_percent, 2) + " to " +
           fixed_text(*attempt.high_percent, 2) + ")";
  }
  return out;
}

std::string ending_text(const Attempt& attempt) {
  if (attempt.verdict.empty()) return "open";
  return attempt.verdict + (attempt.reason.empty() ? "" : "(" + attempt.reason + ")");
}

int count_of(const std::vector<Attempt>& attempts, const std::string& verdict) {
  return static_cast<int>(std::count_if(attempts.begin(), attempts.end(),
                                        [&](const Attempt& a) { return a.verdict == verdict; }));
}

std::string summary(const ReportContext& context, const std::vector<Attempt>& attempts) {
  const int kept = count_of(attempts, "KEEP"), discarded = count_of(attempts, "DISCARD"),
            crashed = count_of(attempts, "CRASH");
  const int ended = kept + discarded + crashed;
  const MetricAxis axis = metric_axis(context.lane);
  std::string out = "| | |\n|---|---|\n";
  const auto line = [&](const std::string& name, const std::string& value) {
    out += "| " + name + " | " + value + " |\n";
  };
  line("branch", markdown_cell(context.session.branch));
  line("lane", markdown_cell(context.lane.name + ": " + context.lane.summary));
  if (!context.hardware.empty()) {
    line("measured on", markdown_cell(context.hardware) +
                            (context.off_target ? ", **off-target** for this lane" : ""));
  }
  line("original", context.session.original.substr(0, 12));
  line("best", context.best.substr(0, 12));
  line("experiments", std::to_string(ended) + ": " + std::to_string(kept) + " kept, " +
                          std::to_string(discarded) + " discarded, " + std::to_string(crashed) +
                          " crashed");
  if (ended > 0) line("keep rate", fixed_text(100.0 * kept / ended, 0) + " %");
  std::optional<double> first, last;
  for (const Attempt& attempt : attempts) {
    const auto value = metric_value(attempt, context.lane);
    if (attempt.verdict == "BASELINE" && !first) first = value;
    if (attempt.verdict == "KEEP" && value) last = value;
  }
  if (first) {
    line(axis.name, fixed_text(*first, 3) + " at the baseline" +
                        (last ? ", " + fixed_text(*last, 3) + " at the last KEEP" : ""));
  }
  return out +
         "\nEach KEEP was decided by runs of candidate and best side by side. The two medians "
         "above "
         "come from different runs: they show the course, they are no measurement of the whole "
         "gain.\n";
}

std::string experiments(const std::vector<Attempt>& attempts, const LaneConfig& lane) {
  std::string out = "| id | commit | verdict | class | " + metric_axis(lane).name +
                    " | gain over the best then (interval) | hypothesis |\n"
                    "|---|---|---|---|---|---|---|\n";
  for (const Attempt& attempt : attempts) {
    const auto value = metric_value(attempt, lane);
    const bool baseline = attempt.verdict == "BASELINE";
    out += "| " + markdown_cell(attempt.id) + " | " + attempt.commit.substr(0, 7) + " | " +
           markdown_cell(baseline ? "baseline" : ending_text(attempt)) + " | " +
           markdown_cell(attempt.classification) + " | " + (value ? fixed_text(*value, 3) : "-") +
           " | " + (baseline ? "-" : gain_text(attempt)) + " | " +
           markdown_cell(baseline ? "the unmodified commit" : attempt.description) + " |\n";
  }
  return out;
}

std::string quality(const std::vector<Attempt>& attempts) {
  std::string out;
  for (const Attempt& attempt : attempts) {
    if (attempt.verdict != "KEEP" || !attempt.quality) continue;
    out += "| " + markdown_cell(attempt.id) + " | " + markdown_cell(attempt.classification) +
           " | " + markdown_cell(attempt.audited_class) + " | " +
           markdown_cell(quality_use_text(*attempt.quality)) + " |\n";
  }
  if (out.empty()) return "Nothing was kept, so nothing is used of the lane's margins.\n";
  return "Every candidate is held against the original, never against its parent: what a KEEP uses "
         "of a margin holds the losses of those before it.\n\n"
         "| kept | claimed | outputs show | used up |\n|---|---|---|---|\n" +
         out;
}

std::string reasons(const std::vector<Attempt>& attempts) {
  std::string out;
  for (const Attempt& attempt : attempts) {
    if (attempt.verdict != "DISCARD" && attempt.verdict != "CRASH") continue;
    out += "- " + one_line(attempt.id) + ", " + ending_text(attempt) + ": " +
           shortened(one_line(attempt.why), 300) + "\n";
  }
  return out.empty() ? "Nothing was discarded and nothing crashed.\n" : out;
}

std::string expectations(const ReportContext& context, const std::vector<Attempt>& attempts) {
  std::string out;
  for (const Attempt& attempt : attempts) {
    const auto shift = std::find_if(context.shifts.begin(), context.shifts.end(),
                                    [&](const auto& entry) { return entry.first == attempt.id; });
    const std::string measured = shift == context.shifts.end() ? "" : shift->second;
    if (attempt.expect.empty() && measured.empty()) continue;
    out += "| " + markdown_cell(attempt.id) + " | " +
           (attempt.expect.empty() ? "-" : markdown_cell(attempt.expect)) + " | " +
           (measured.empty() ? "-" : markdown_cell(measured)) + " |\n";
  }
  if (out.empty()) return "No experiment stated an expected shift (`--expect`).\n";
  return "Shares of the phases that the worker reports, best against candidate; a diagnosis, never "
         "a verdict.\n\n| id | expected | measured |\n|---|---|---|\n" +
         out;
}

std::string pages(const std::vector<PageScore>& scores) {
  if (scores.empty()) {
    return "No experiment cited a page; name one with `dit-ar experiment --cite PAGE`.\n";
  }
  std::string out =
      "How the experiments that cite a page ended, over every session of this repository. The "
      "score "
      "is (kept + 1) / (ended + 2).\n\n"
      "| page | score | kept | discarded | crashed | best gain |\n|---|---|---|---|---|---|\n";
  for (const PageScore& score : scores) {
    out += "| " + markdown_cell(score.page) + " | " + fixed_text(score.score(), 2) + " | " +
           std::to_string(score.kept) + " | " + std::to_string(score.discarded) + " | " +
           std::to_string(score.crashed) + " | " +
           (score.best_gain_percent ? fixed_text(*score.best_gain_percent, 2) + " %" : "-") +
           " |\n";
  }
  return out;
}

}  // namespace

std::string report_markdown(const ReportContext& context, const std::vector<Attempt>& attempts,
                            const std::vector<PageScore>& scores) {
  std::string out =
      "# Session " + markdown_cell(context.session.id) + "\n\n" + summary(context, attempts) + "\n";
  if (context.picture) out += "![metric over the experiments](progress.png)\n\n";
  out += "## Experiments\n\n" + experiments(attempts, context.lane);
  out += "\n## Quality budget\n\n" + quality(attempts);
  out += "\n## Why not\n\n" + reasons(attempts);
  out += "\n## Expected and measured\n\n" + expectations(context, attempts);
  out += "\n## Handbook pages\n\n" + pages(scores);
  out +=
      "\n## Files\n\n`results.tsv` is the table that users of autoresearch tools know, "
      "`experiments.tsv` has every figure, `pages.tsv` the scores above, `progress.tsv` the points "
      "of "
      "the picture. Raw figures and receipts are in `.autoresearch/runs/`; `dit-ar verify` decides "
      "them anew.\n";
  return out;
}

}  // namespace ditar
