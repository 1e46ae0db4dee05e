// progress.png through gnuplot: kept experiments green and labelled, discarded ones grey, crashed
// ones and those that ended before timing as marks on the lower edge, the running best as a step
// line.
#include "ditar/config/error.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/report.h"
#include "ditar/coordinator/subprocess.h"
#include "report/cells.h"

#include <algorithm>
#include <sstream>

namespace ditar {
namespace {

std::string gnuplot_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : one_line(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

struct Range {
  double low = 0.0, high = 0.0;
};

/// Room for the marks below and for the labels beside the kept points above.
Range value_range(const std::vector<ProgressPoint>& points) {
  Range range{1e300, -1e300};
  for (const ProgressPoint& point : points) {
    if (!point.value) continue;
    range.low = std::min(range.low, *point.value);
    range.high = std::max(range.high, *point.value);
  }
  const double span = std::max(range.high - range.low, 0.02 * std::abs(range.high));
  return {range.low - 0.25 * span, range.high + 0.35 * span};
}

/// One curve per kind of point that there is: gnuplot ends with a fault on a kind without points.
std::string plot_command(const std::vector<ProgressPoint>& points) {
  std::string out =
      "plot 'progress.tsv' skip 1 using 1:5 with steps lw 2 lc rgb '#2ca02c' title 'best'";
  const auto add = [&](PointKind kind, bool timed, const std::string& curve) {
    const bool any = std::any_of(points.begin(), points.end(), [&](const ProgressPoint& point) {
      return point.kind == kind && point.value.has_value() == timed;
    });
    if (any) out += ", \\\n  '' skip 1 using " + curve;
  };
  add(PointKind::kDiscarded, true,
      "1:(timed('discard')) with points pt 7 ps 1.2 lc rgb '#b0b0b0' title 'discarded'");
  add(PointKind::kDiscarded, false,
      "1:(untimed('discard')) axes x1y2 with points pt 6 ps 1.2 lc rgb '#909090' "
      "title 'discarded before timing'");
  add(PointKind::kCrashed, false,
      "1:(untimed('crash')) axes x1y2 with points pt 2 ps 1.4 lw 2 lc rgb '#d62728' "
      "title 'crashed'");
  add(PointKind::kBaseline, true,
      "1:(timed('baseline')) with points pt 5 ps 1.4 lc rgb '#1f77b4' title 'baseline'");
  add(PointKind::kKept, true,
      "1:(timed('keep')) with points pt 7 ps 1.6 lc rgb '#2ca02c' title 'kept'");
  add(PointKind::kKept, true,
      "1:(timed('keep')):6 with labels left rotate by 20 offset 0.6,0.5 font ',9' "
      "tc rgb '#1a661a' notitle");
  return out + "\n";
}

std::string plot_script(const std::vector<ProgressPoint>& points, const MetricAxis& axis,
                        const std::string& title) {
  const Range range = value_range(points);
  const double last = points.back().number;
  std::ostringstream out;
  out.precision(12);
  out << "# Draws progress.png from progress.tsv: gnuplot progress.gnuplot\n"
         "set encoding utf8\n"
         "set terminal pngcairo noenhanced size 1280,640 font 'DejaVu Sans,11'\n"
         "set output 'progress.png'\n"
         "set datafile separator \"\\t\"\n"
         "set title "
      << gnuplot_quoted(title) << "\nset xlabel 'experiment'\nset ylabel "
      << gnuplot_quoted(axis.name +
                        (axis.lower_is_better ? " (lower is better)" : " (higher is better)"))
      << "\nset grid lc rgb '#e6e6e6'\nset border 3\nset tics nomirror\n"
         "set key outside right top\n"
         "set xrange [-0.5:"
      << 1.2 * last + 1.0 << "]\nset yrange [" << range.low << ":" << range.high
      << "]\nset y2range [0:1]\nunset y2tics\n"
         "set xtics "
      << std::max(1, static_cast<int>(last / 10.0))
      << "\n"
         "timed(want) = (strcol(3) eq want ? column(4) : NaN)\n"
         "untimed(want) = (strcol(3) eq want && strlen(strcol(4)) == 0 ? 0.04 : NaN)\n";
  out << plot_command(points);
  return out.str();
}

}  // namespace

std::string write_progress_png(const std::filesystem::path& folder,
                               const std::vector<ProgressPoint>& points, const MetricAxis& axis,
                               const std::string& title) {
  write_file_durably(folder / "progress.tsv", progress_tsv(points));
  std::error_code ignored;
  std::filesystem::remove(folder / "progress.png", ignored);  // never leave an older picture
  const bool measured = std::any_of(points.begin(), points.end(),
                                    [](const ProgressPoint& p) { return p.value.has_value(); });
  if (!measured)
    return "nothing was measured yet, so there is no progress.png; run: dit-ar baseline";
  write_file_durably(folder / "progress.gnuplot", plot_script(points, axis, title));
  ProcessSpec spec;
  try {
    spec.program = find_program("gnuplot");
  } catch (const Unavailable&) {
    return "gnuplot is missing, so progress.png was not drawn; install it (apt-get install "
           "gnuplot-nox), then run: dit-ar report";
  }
  spec.arguments = {"progress.gnuplot"};
  spec.environment = allowed_environment({"PATH", "HOME", "LANG", "LC_ALL", "FONTCONFIG_FILE",
                                          "FONTCONFIG_PATH", "XDG_CACHE_HOME", "GDFONTPATH"});
  spec.directory = folder;
  spec.timeout = std::chrono::seconds(30);
  const ProcessResult result = run_process(spec);
  if (result.ok() && std::filesystem::exists(folder / "progress.png")) return {};
  std::filesystem::remove(folder / "progress.png", ignored);
  return "gnuplot could not draw progress.png (exit code " + std::to_string(result.exit_code) +
         "): " + shortened(one_line(result.errors), 300);
}

}  // namespace ditar
