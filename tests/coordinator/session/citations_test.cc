// What an experiment rests on: the pages that it cites, or the label of an idea that the handbook
// does not know; and what the report makes of both.
#include "scratch_session.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ditar {
namespace {

constexpr const char* kPage = "03_single_gpu/05_norm_modulation_fusion.md";
constexpr const char* kLabel = "external/new hypothesis";

class SessionCitationsTest : public testing::Test {
 protected:
  void SetUp() override { session_.restore(); }
  /// A commit that changes nothing but a remark, judged. @return the experiment's document
  nlohmann::json judge(const std::string& remark, std::vector<std::string> arguments) {
    const std::string file = kBlockFile;
    session_.write(file, session_.read(file) + "// " + remark + "\n");
    session_.commit(remark);
    arguments.insert(arguments.begin(), {"experiment", "--json", "--classification", "exact"});
    nlohmann::json document;
    for (int tried = 0; tried < 4; ++tried) {
      document = nlohmann::json::parse(session_.dit_ar(arguments).output, nullptr, false);
      if (document.value("verdict", "") != "RETRY") break;
    }
    EXPECT_EQ(document.value("verdict", ""), "DISCARD") << document.dump();
    EXPECT_EQ(session_.dit_ar({"discard"}).exit_code, 0);
    return document;
  }

  ScratchSession session_;
};

TEST_F(SessionCitationsTest, AreRecordedAndScoredByHowTheExperimentsEnded) {
  const auto cited = judge("Remark one.", {"--description", "one pass over the row", "--cite",
                                           std::string("knowledge/handbook/") + kPage});
  EXPECT_EQ(cited["cites"], nlohmann::json::array({kPage}));
  EXPECT_EQ(cited["label"], "");
  const auto unknown =
      judge("Remark two.", {"--description", "spiking neurons on an optical coprocessor"});
  EXPECT_EQ(unknown["cites"], nlohmann::json::array());
  EXPECT_EQ(unknown["label"], kLabel);

  const auto shown = nlohmann::json::parse(session_.dit_ar({"show", "last", "--json"}).output);
  EXPECT_NE(shown.dump().find(kLabel), std::string::npos) << shown.dump();
  const ProcessResult report = session_.dit_ar({"report", "--json"});
  ASSERT_EQ(report.exit_code, 0) << report.errors;
  const auto document = nlohmann::json::parse(report.output);
  std::vector<std::string> pages;
  for (const auto& page : document["pages"]) {
    pages.push_back(page["page"]);
    EXPECT_EQ(page["discarded"], 1) << page.dump();
    EXPECT_EQ(page["kept"], 0) << page.dump();
  }
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(pages, (std::vector<std::string>{kPage, kLabel}));
}

TEST_F(SessionCitationsTest, OfNoPageAreRefused) {
  const ProcessResult result =
      session_.dit_ar({"experiment", "--classification", "exact", "--description", "an idea",
                       "--cite", "03_single_gpu/99_no_such_page.md"});
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_NE(result.errors.find("is no page of the handbook"), std::string::npos) << result.errors;
}

TEST_F(SessionCitationsTest, PastExperimentsAreFoundWithTheirReason) {
  judge("Remark three.", {"--description", "zebra striping of the residual"});
  const auto found = nlohmann::json::parse(
      session_.dit_ar({"search", "--json", "zebra striping"}).output, nullptr, false);
  bool past = false;
  for (const auto& result : found["results"]) past = past || result["kind"] == "experiment";
  EXPECT_TRUE(past) << found.dump();
}

}  // namespace
}  // namespace ditar
