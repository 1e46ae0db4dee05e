#include "ditar/coordinator/report.h"

#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/blob_store.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace ditar {
namespace {

std::filesystem::path report_folder(const Project& project, const std::string& out) {
  const std::filesystem::path folder =
      out.empty() ? project.layout.root / "report" : std::filesystem::path(out);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw IoError("cannot make the folder " + folder.string() + ": " + error.message() +
                  "; choose another --out");
  }
  return std::filesystem::canonical(folder);
}

/// What the baseline was measured on, and whether the lane is meant for something else.
void read_hardware(ReportContext& context) {
  if (!context.session.baseline) return;
  const auto body = nlohmann::json::parse(context.session.baseline->body, nullptr, false);
  if (!body.is_object() || !body.contains("machine") || !body["machine"].is_object()) return;
  const nlohmann::json& machine = body["machine"];
  const std::string gpu = machine.value("gpu", ""), cpu = machine.value("cpu", "");
  const bool on_cpu = context.lane.hardware == "cpu";
  context.hardware = on_cpu ? cpu + ", " + std::to_string(machine.value("cpus", 0)) + " CPUs" : gpu;
  context.off_target = !on_cpu && gpu != context.lane.hardware;
}

void read_shifts(const Project& project, const std::vector<Attempt>& attempts,
                 ReportContext& context) {
  for (const Attempt& attempt : attempts) {
    if (attempt.receipt.empty() || attempt.verdict == "BASELINE") continue;
    std::ifstream file(project.git.root() / attempt.receipt);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::string shift = phase_shift(text);
    if (!shift.empty()) context.shifts.emplace_back(attempt.id, shift);
  }
}

nlohmann::json to_json(const std::vector<PageScore>& scores) {
  nlohmann::json out = nlohmann::json::array();
  for (const PageScore& score : scores) {
    out.push_back(
        {{"page", score.page},
         {"score", score.score()},
         {"kept", score.kept},
         {"discarded", score.discarded},
         {"crashed", score.crashed},
         {"best_gain_percent",
          score.best_gain_percent ? nlohmann::json(*score.best_gain_percent) : nlohmann::json()}});
  }
  return out;
}

}  // namespace

int run_report(const GlobalOptions& global, const ReportOptions& options, Console& console) {
  const Project project = open_project(global);
  const Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kRead);
  ReportContext context;
  context.session = require_session(project, ledger.records());
  context.lane = project.settings.lane(context.session.lane);
  context.best = best_commit(project.git, context.session);
  const std::vector<Attempt> all = attempts_of(ledger.records());
  const std::vector<Attempt> attempts = attempts_of(ledger.records(), context.session.id);
  const std::vector<PageScore> scores = page_scores(all);
  read_hardware(context);
  read_shifts(project, attempts, context);

  const std::filesystem::path folder = report_folder(project, options.out);
  const std::vector<ProgressPoint> points = progress_points(attempts, context.lane);
  const auto kept = std::count_if(points.begin(), points.end(), [](const ProgressPoint& point) {
    return point.kind == PointKind::kKept;
  });
  const auto tried = std::count_if(points.begin(), points.end(), [](const ProgressPoint& point) {
    return point.kind != PointKind::kBaseline;
  });
  const std::string title = "session " + context.session.id + ", lane " + context.lane.name + ": " +
                            std::to_string(tried) + " experiments, " + std::to_string(kept) +
                            " kept" + (context.off_target ? " (off-target)" : "");
  const std::string fault = write_progress_png(folder, points, metric_axis(context.lane), title);
  context.picture = fault.empty();
  write_results_tsv(folder / "results.tsv", result_rows(attempts));
  write_file_durably(folder / "experiments.tsv", experiments_tsv(attempts));
  write_file_durably(folder / "pages.tsv", pages_tsv(scores));
  write_file_durably(folder / "report.md", report_markdown(context, attempts, scores));

  nlohmann::json files = nlohmann::json::array();
  for (const char* name : {"report.md", "progress.png", "results.tsv", "experiments.tsv",
                           "pages.tsv", "progress.tsv"}) {
    if (name == std::string("progress.png") && !context.picture) continue;
    console.line("wrote " + (folder / name).string());
    files.push_back((folder / name).string());
  }
  if (!fault.empty()) console.note("dit-ar: " + fault);
  console.document({{"session", context.session.id},
                    {"lane", context.lane.name},
                    {"folder", folder.string()},
                    {"files", files},
                    {"picture", context.picture},
                    {"picture_fault", fault},
                    {"experiments", tried},
                    {"kept", kept},
                    {"pages", to_json(scores)}});
  return 0;
}

}  // namespace ditar
