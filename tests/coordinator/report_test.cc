#include "ditar/coordinator/report.h"

#include "cli/console.h"
#include "commands/commands.h"
#include "ditar/config/error.h"
#include "ditar/coordinator/ledger.h"
#include "report/cells.h"
#include "scratch_repository.h"
#include "temp_folder.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

namespace ditar {
namespace {

namespace fs = std::filesystem;

Attempt attempt(const std::string& id, const std::string& verdict,
                std::optional<double> seconds = std::nullopt,
                std::optional<double> gain = std::nullopt, std::vector<std::string> cites = {}) {
  Attempt out;
  out.id = id;
  out.session = "mar5";
  out.commit = std::string(40, 'c');
  out.verdict = verdict;
  out.metric_seconds = seconds;
  out.speedup_percent = gain;
  out.cites = std::move(cites);
  out.description = "change of " + id;
  return out;
}

std::vector<Attempt> campaign() {
  const std::string graphs = "03_single_gpu/06_cuda_graphs.md", gemm = "03_single_gpu/07_gemm.md";
  std::vector<Attempt> all = {attempt("baseline", "BASELINE", 0.010),
                              attempt("mar5-0001", "KEEP", 0.008, 25.0, {graphs, gemm}),
                              attempt("mar5-0002", "DISCARD", 0.0081, -1.0, {gemm}),
                              attempt("mar5-0003", "CRASH", std::nullopt, std::nullopt, {gemm}),
                              attempt("mar5-0004", "DISCARD"),
                              attempt("mar5-0005", "RETRY", 0.004),
                              attempt("mar5-0006", "KEEP", 0.006, 30.0, {graphs}),
                              attempt("mar5-0007", "")};
  all[4].supported = false;
  return all;
}

bool is_png(const fs::path& file) {
  return ScratchRepository::read(file).starts_with("\x89PNG\r\n\x1a\n");
}

nlohmann::json record_with_quality() {
  const nlohmann::json numbers = {
      {"gate",
       {{"scores",
         {{{"name", "accuracy"}, {"worsening", 0.0025}, {"margin", 0.01}, {"pass", true}},
          {{"name", "frechet"}, {"worsening", -0.1}, {"margin", 0.4}, {"pass", true}}}},
        {"least_psnr_db", 61.25},
        {"worst_step_error", 1e-6}}}};
  return {{"quality", quality_use_json(numbers)}};
}

TEST(QualityBudgetTest, IsTheShareOfTheMarginAgainstTheOriginal) {
  const std::optional<QualityUse> use = quality_use_from(record_with_quality());
  ASSERT_TRUE(use);
  ASSERT_EQ(use->scores.size(), 2U);
  EXPECT_DOUBLE_EQ(use->scores[0].share(), 0.25);
  EXPECT_DOUBLE_EQ(use->scores[1].share(), 0.0);
  EXPECT_EQ(quality_use_text(*use),
            "accuracy 25 % of its margin, frechet none; least PSNR 61.2 dB");
  EXPECT_EQ(to_json(*use)["scores"][0]["share"], 0.25);
  EXPECT_FALSE(quality_use_from(nlohmann::json::object()));
  EXPECT_FALSE(quality_use_from({{"quality", quality_use_json(nlohmann::json())}}));
}

TEST(QualityBudgetTest, BitsOfTheOriginalHaveNoPsnr) {
  nlohmann::json record = record_with_quality();
  record["quality"]["least_psnr_db"] = nullptr;
  EXPECT_EQ(quality_use_text(*quality_use_from(record)),
            "accuracy 25 % of its margin, frechet none; the original's bits");
}

TEST(QualityBudgetTest, ReportShowsItForEveryKeep) {
  std::vector<Attempt> all = campaign();
  all[1].quality = quality_use_from(record_with_quality());
  all[1].classification = "numerical";
  all[1].audited_class = "numerical";
  const std::string report = report_markdown({}, all, {});
  EXPECT_NE(report.find("| mar5-0001 | numerical | numerical | accuracy 25 % of its margin"),
            std::string::npos)
      << report;
}

TEST(PageScoresTest, FollowHowCitingExperimentsEnded) {
  const std::vector<PageScore> scores = page_scores(campaign());
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_EQ(scores[0].page, "03_single_gpu/06_cuda_graphs.md");
  EXPECT_EQ(scores[0].kept, 2);
  EXPECT_DOUBLE_EQ(scores[0].score(), 0.75);
  EXPECT_DOUBLE_EQ(scores[0].best_gain_percent.value(), 30.0);
  EXPECT_EQ(scores[1].page, "03_single_gpu/07_gemm.md");
  EXPECT_EQ(scores[1].crashed, 1);
  EXPECT_DOUBLE_EQ(scores[1].score(), 0.4);
  EXPECT_EQ(scores[2].page, "external/new hypothesis");
  EXPECT_EQ(scores[2].discarded, 1);
}

TEST(PageScoresTest, OnePageHasOneName) {
  for (const char* form : {"03_single_gpu/06_cuda_graphs.md", "03_single_gpu/06_cuda_graphs",
                           "knowledge/handbook/03_single_gpu/06_cuda_graphs.md",
                           "./knowledge/handbook/03_single_gpu/06_cuda_graphs.md#try-it-here",
                           "03_single_gpu/06_cuda_graphs.md:12"}) {
    EXPECT_EQ(page_of_cite(form, "knowledge/handbook"), "03_single_gpu/06_cuda_graphs.md") << form;
  }
}

TEST(ProgressTest, BestFollowsKeptOnesAndRetriesAreNoExperiments) {
  const LaneConfig lane;
  const std::vector<ProgressPoint> points = progress_points(campaign(), lane);
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[0].number, 0);
  EXPECT_DOUBLE_EQ(points[2].best.value(), 8.0);
  EXPECT_DOUBLE_EQ(points[2].value.value(), 8.1);
  EXPECT_FALSE(points[3].value.has_value());
  EXPECT_EQ(points[5].number, 5);
  EXPECT_DOUBLE_EQ(points[5].best.value(), 6.0);
}

TEST(ProgressTest, ThroughputIsImagesPerSecond) {
  LaneConfig lane;
  lane.metric = "throughput";
  lane.images = 4;
  EXPECT_DOUBLE_EQ(metric_value(attempt("a", "KEEP", 0.5), lane).value(), 8.0);
  EXPECT_FALSE(metric_axis(lane).lower_is_better);
  EXPECT_FALSE(metric_value(attempt("a", "CRASH", 0.5), lane).has_value());
}

TEST(ReportCellsTest, HoldOneLineAndWholeCharacters) {
  EXPECT_EQ(one_line("a\tb\n\"c\""), "a b 'c'");
  EXPECT_EQ(shortened("fusión de núcleos", 8), "fusi...");  // not half of "ó"
  EXPECT_EQ(markdown_cell("a|b"), "a\\|b");
  EXPECT_EQ(figure_text(std::nullopt), "");
}

TEST(ProgressPlotTest, DrawsHostileDescriptions) {
  const TempFolder folder;
  std::vector<Attempt> attempts = campaign();
  attempts[1].description = "it's \"50 %\" `date` $x \\n @{} atención\n`touch injected`";
  const auto points = progress_points(attempts, LaneConfig());
  const std::string fault = write_progress_png(folder.path(), points, metric_axis(LaneConfig()),
                                               "lane 'x' `touch injected`");
  EXPECT_EQ(fault, "");
  EXPECT_TRUE(is_png(folder / "progress.png"));
  EXPECT_FALSE(fs::exists(folder / "injected"));
}

TEST(ProgressPlotTest, DrawsABaselineAloneAndSaysWhenNothingWasMeasured) {
  const TempFolder folder;
  const MetricAxis axis = metric_axis(LaneConfig());
  const std::vector<Attempt> one = {attempt("baseline", "BASELINE", 0.01)};
  EXPECT_EQ(write_progress_png(folder.path(), progress_points(one, LaneConfig()), axis, "t"), "");
  const std::string fault = write_progress_png(folder.path(), {}, axis, "t");
  EXPECT_NE(fault.find("dit-ar baseline"), std::string::npos) << fault;
  EXPECT_FALSE(fs::exists(folder / "progress.png")) << "an older picture was left";
  EXPECT_TRUE(fs::exists(folder / "progress.tsv"));
}

TEST(PhaseShiftTest, NamesTheLargestChangesFirst) {
  const std::string receipt = R"({"ranks": {
    "best": {"phases": {"denoise_ms": {"max": 90}, "write_ms": {"max": 10}}},
    "candidate": {"phases": {"denoise_ms": {"max": 30}, "write_ms": {"max": 10},
                             "cache_ms": {"max": 10}}}}})";
  EXPECT_EQ(phase_shift(receipt),
            "denoise 90.0 % -> 60.0 %, cache 0.0 % -> 20.0 %, write 10.0 % -> 20.0 %");
  EXPECT_EQ(phase_shift("{}"), "");
  EXPECT_EQ(phase_shift("not JSON"), "");
  EXPECT_EQ(phase_shift(R"({"ranks": {"best": null, "candidate": 3}})"), "");
}

/// A session in a scratch repository with records as the flows write them.
class ReportCommandTest : public testing::Test {
 protected:
  ReportCommandTest() : before_(fs::current_path()) {
    const fs::path config = fs::path(DITAR_SOURCE_DIR) / "config";
    scratch_.put("config/autoresearch.json", ScratchRepository::read(config / "autoresearch.json"));
    scratch_.put("config/engine.json", ScratchRepository::read(config / "engine.json"));
    scratch_.put(".gitignore", "/.autoresearch/\n");
    scratch_.commit("base");
    scratch_.shell("git switch -q -c autoresearch/mar5");
    fs::current_path(scratch_.root());
    Ledger ledger = Ledger::open(scratch_.root() / ".autoresearch", LedgerMode::kWrite);
    const auto record = [&](const char* type, nlohmann::json body) {
      body["session"] = "mar5";
      body["lane"] = "cpu-mnist";
      ledger.append(type, body.dump());
    };
    const std::string commit(40, 'a');
    record("session-init", {{"branch", "autoresearch/mar5"}, {"original", commit}});
    record("baseline", {{"ok", true},
                        {"commit", commit},
                        {"metric_seconds", 0.01},
                        {"machine", {{"cpu", "Test CPU"}, {"cpus", 2}}}});
    record("intent", {{"id", "mar5-0001"},
                      {"commit", std::string(40, 'b')},
                      {"classification", "exact"},
                      {"description", "una sola pasada | menos memoria"},
                      {"expect", "pointwise 12 % -> 8 %"},
                      {"cites", {"03_single_gpu/05_norm_modulation_fusion.md"}}});
    record("verdict", {{"id", "mar5-0001"},
                       {"verdict", "KEEP"},
                       {"metric_seconds", 0.008},
                       {"speedup_percent", 24.9},
                       {"speedup_low_percent", 24.0},
                       {"speedup_high_percent", 26.0}});
    record("intent", {{"id", "mar5-0002"}, {"description", "a guess"}, {"supported", false}});
    record("verdict", {{"id", "mar5-0002"},
                       {"verdict", "CRASH"},
                       {"reason", "build"},
                       {"why", "static assertion failed"}});
  }
  ~ReportCommandTest() override { fs::current_path(before_); }

  static nlohmann::json run(const ReportOptions& options) {
    testing::internal::CaptureStdout();
    {
      Console console(/*json=*/true, /*verbose=*/false);
      EXPECT_EQ(run_report({}, options, console), 0);
    }
    return nlohmann::json::parse(testing::internal::GetCapturedStdout());
  }

  ScratchRepository scratch_;
  fs::path before_;
};

TEST_F(ReportCommandTest, WritesTextTablesAndPicture) {
  const nlohmann::json document = run({});
  const fs::path folder = document.at("folder").get<std::string>();
  EXPECT_EQ(folder, fs::canonical(scratch_.root() / ".autoresearch" / "report"));
  for (const auto& file : document.at("files")) {
    EXPECT_TRUE(fs::exists(file.get<std::string>())) << file;
  }
  EXPECT_TRUE(is_png(folder / "progress.png"));
  const std::string text = ScratchRepository::read(folder / "report.md");
  for (const char* part :
       {"# Session mar5", "Test CPU, 2 CPUs", "2: 1 kept, 0 discarded, 1 crashed",
        "una sola pasada \\| menos memoria", "24.90 % (24.00 to 26.00)", "![metric",
        "CRASH(build): static assertion failed", "pointwise 12 % -> 8 %",
        "| 03_single_gpu/05_norm_modulation_fusion.md | 0.67 | 1 | 0 | 0 | 24.90 % |",
        "| external/new hypothesis | 0.33 |"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("off-target"), std::string::npos);
  const std::string table = ScratchRepository::read(folder / "results.tsv");
  EXPECT_NE(table.find("bbbbbbb\t0.008\t"), std::string::npos) << table;
}

TEST_F(ReportCommandTest, WithoutGnuplotEverythingElseIsWritten) {
  const std::string path = std::getenv("PATH");
  const fs::path only_git = scratch_.beside("bin");
  fs::create_directories(only_git);
  scratch_.shell("ln -s \"$(command -v git)\" '" + (only_git / "git").string() + "'");
  ::setenv("PATH", only_git.c_str(), 1);
  const nlohmann::json document = run({scratch_.beside("out").string()});
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_FALSE(document.at("picture").get<bool>());
  EXPECT_NE(document.at("picture_fault").get<std::string>().find("gnuplot-nox"), std::string::npos);
  const std::string text = ScratchRepository::read(scratch_.beside("out") / "report.md");
  EXPECT_NE(text.find("## Handbook pages"), std::string::npos);
  EXPECT_EQ(text.find("progress.png)"), std::string::npos);
  EXPECT_TRUE(fs::exists(scratch_.beside("out") / "pages.tsv"));
}

TEST_F(ReportCommandTest, RefusesAFolderThatIsAFile) {
  Console console(true, false);
  try {
    run_report({}, {(scratch_.root() / ".gitignore").string()}, console);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(error.message().find(".gitignore"), std::string::npos);
    EXPECT_NE(error.message().find("--out"), std::string::npos);
  }
}

}  // namespace
}  // namespace ditar
