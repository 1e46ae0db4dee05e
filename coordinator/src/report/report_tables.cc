// The report's tables as tab-separated text. Pure.
#include "ditar/coordinator/report.h"
#include "report/cells.h"

namespace ditar {
namespace {

const char* name_of(PointKind kind) {
  switch (kind) {
    case PointKind::kBaseline:
      return "baseline";
    case PointKind::kKept:
      return "keep";
    case PointKind::kDiscarded:
      return "discard";
    case PointKind::kCrashed:
      return "crash";
  }
  return "";
}

std::string row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += (&cell == cells.data() ? "" : "\t") + cell;
  return out + "\n";
}

}  // namespace

std::string progress_tsv(const std::vector<ProgressPoint>& points) {
  std::string out = row({"number", "id", "status", "value", "best", "description"});
  for (const ProgressPoint& point : points) {
    out += row({std::to_string(point.number), one_line(point.id), name_of(point.kind),
                figure_text(point.value), figure_text(point.best),
                shortened(one_line(point.description), 48)});
  }
  return out;
}

std::string experiments_tsv(const std::vector<Attempt>& attempts) {
  std::string out = row({"id",
                         "session",
                         "lane",
                         "commit",
                         "parent",
                         "classification",
                         "audited_class",
                         "verdict",
                         "reason",
                         "metric_seconds",
                         "speedup_percent",
                         "speedup_low_percent",
                         "speedup_high_percent",
                         "memory_bytes",
                         "cites",
                         "label",
                         "expect",
                         "description",
                         "why",
                         "receipt"});
  for (const Attempt& a : attempts) {
    std::string cites;
    for (const std::string& cite : a.cites) cites += (cites.empty() ? "" : ",") + cite;
    out += row({one_line(a.id),
                one_line(a.session),
                one_line(a.lane),
                a.commit,
                a.parent,
                one_line(a.classification),
                one_line(a.audited_class),
                a.verdict.empty() ? "OPEN" : one_line(a.verdict),
                one_line(a.reason),
                a.verdict == "CRASH" ? "" : figure_text(a.metric_seconds),
                figure_text(a.speedup_percent),
                figure_text(a.low_percent),
                figure_text(a.high_percent),
                figure_text(a.memory_bytes),
                one_line(cites),
                a.supported ? "" : "external/new hypothesis",
                one_line(a.expect),
                one_line(a.description),
                one_line(a.why),
                one_line(a.receipt)});
  }
  return out;
}

std::string pages_tsv(const std::vector<PageScore>& scores) {
  std::string out = row({"page", "score", "kept", "discarded", "crashed", "best_gain_percent"});
  for (const PageScore& score : scores) {
    out += row({one_line(score.page), figure_text(score.score()), std::to_string(score.kept),
                std::to_string(score.discarded), std::to_string(score.crashed),
                figure_text(score.best_gain_percent)});
  }
  return out;
}

}  // namespace ditar
