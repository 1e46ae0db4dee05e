// The report of a session: what each experiment came to, which handbook pages led anywhere, and the
// picture of progress that users of autoresearch tools know. Everything is derived from attempts;
// pure but for write_progress_png.
#pragma once

#include "ditar/config/lane.h"
#include "ditar/coordinator/attempts.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ditar {

/// How the experiments that cite one handbook page ended.
struct PageScore {
  std::string page;  ///< relative to the handbook's folder, or "external/new hypothesis"
  int kept = 0, discarded = 0, crashed = 0;
  std::optional<double> best_gain_percent;  ///< largest speed-up of a kept one
  int ended() const noexcept { return kept + discarded + crashed; }
  /// (kept + 1) / (ended + 2), the rule of succession: the share that one expects to be kept next.
  double score() const noexcept { return (kept + 1.0) / (ended() + 2.0); }
};

/// One score per page cited, best first (ties: more experiments, then the name). Attempts without a
/// verdict count nowhere; those that nothing supports count under "external/new hypothesis".
std::vector<PageScore> page_scores(const std::vector<Attempt>& attempts);

/// "03_single_gpu/06_cuda_graphs.md" for any form of naming that page ("knowledge/handbook/...",
/// with "#section" or ":line" at the end, without ".md").
std::string page_of_cite(const std::string& cite, const std::string& handbook_prefix);

enum class PointKind : std::uint8_t { kBaseline, kKept, kDiscarded, kCrashed };

/// One experiment in the picture of progress.
struct ProgressPoint {
  int number = 0;  ///< 0 for the baseline, then 1, 2, ... in the order of the experiments
  std::string id, description;
  PointKind kind = PointKind::kDiscarded;
  std::optional<double> value;  ///< of the lane's metric; none where it was not timed
  std::optional<double> best;   ///< of the best after it
};

/// The lane's product metric as the picture and the tables show it.
struct MetricAxis {
  std::string name;  ///< "latency of one request, ms"
  bool lower_is_better = true;
};
MetricAxis metric_axis(const LaneConfig& lane);
/// The attempt's figure on that axis. A crash has none.
std::optional<double> metric_value(const Attempt& attempt, const LaneConfig& lane);

/// Points of one session. Open, abandoned and repeated (RETRY) attempts have none.
std::vector<ProgressPoint> progress_points(const std::vector<Attempt>& attempts,
                                           const LaneConfig& lane);

/// Columns number, id, status, value, best, description; what gnuplot reads and people may.
std::string progress_tsv(const std::vector<ProgressPoint>& points);
/// Every attempt with every figure, one row each.
std::string experiments_tsv(const std::vector<Attempt>& attempts);
std::string pages_tsv(const std::vector<PageScore>& scores);

/// Draws `folder`/progress.png with gnuplot from progress.tsv and progress.gnuplot, both written
/// there. Blocks for at most 30 s. @return empty if drawn, else one sentence why not (gnuplot is
/// missing, nothing was measured yet, or what gnuplot said); the other files are there all the
/// same. @throws IoError if they cannot be written.
std::string write_progress_png(const std::filesystem::path& folder,
                               const std::vector<ProgressPoint>& points, const MetricAxis& axis,
                               const std::string& title);

/// What the text says beside the attempts.
struct ReportContext {
  SessionState session;
  LaneConfig lane;
  std::string hardware;  ///< what the baseline was measured on; empty: not known
  bool off_target = false;
  std::string best;  ///< commit
  bool picture = false;
  /// Share of each phase in percent, best and candidate, by attempt id: "attention 18 -> 12".
  std::vector<std::pair<std::string, std::string>> shifts;
};

/// The report as Markdown. @param scores over every session of the repository.
std::string report_markdown(const ReportContext& context, const std::vector<Attempt>& attempts,
                            const std::vector<PageScore>& scores);

/// Phases' shares of one receipt's two arms, largest change first, three at most, for a person;
/// empty where the receipt has none. @param receipt_json text of a receipt.
std::string phase_shift(const std::string& receipt_json);

}  // namespace ditar
