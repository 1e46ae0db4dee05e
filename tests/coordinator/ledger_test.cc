#include "ditar/coordinator/ledger.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/results_table.h"
#include "temp_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ditar {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(LedgerTest, RecordsComeBackInOrderWithTheirChain) {
  const TempFolder folder;
  {
    Ledger ledger = Ledger::open(folder / "s", LedgerMode::kWrite);
    ledger.append("session-init", R"({ "lane" : "cpu-mnist" })");
    const Record& second = ledger.append("note", R"({"text":"tab\t, ñ, \"quoted\"\n"})");
    EXPECT_EQ(second.seq, 1);
  }
  const Ledger again = Ledger::open(folder / "s", LedgerMode::kRead);
  ASSERT_EQ(again.records().size(), 2u);
  EXPECT_EQ(again.records()[0].body, R"({"lane":"cpu-mnist"})");
  EXPECT_EQ(again.records()[1].body, R"({"text":"tab\t, ñ, \"quoted\"\n"})");
  EXPECT_EQ(again.check().head_hash, again.records()[1].hash);
  const std::string text = content(folder / "s/ledger.jsonl");
  const std::string first = text.substr(0, text.find('\n') + 1);
  EXPECT_EQ(again.records()[0].hash, sha256_hex(std::string(64, '0') + first));
  EXPECT_NE(text.find("\"prev\":\"" + again.records()[0].hash + "\""), std::string::npos);
}

TEST(LedgerTest, RefusesWhatIsNoRecord) {
  const TempFolder folder;
  Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
  EXPECT_THROW(ledger.append("", "{}"), InvalidArgument);
  EXPECT_THROW(ledger.append("a b", "{}"), InvalidArgument);
  EXPECT_THROW(ledger.append("note", "[]"), InvalidArgument);
  EXPECT_THROW(ledger.append("note", "{\"a\":"), InvalidArgument);
  EXPECT_THROW(ledger.append("note", "{\"a\":\"\xff\"}"), InvalidArgument);
  EXPECT_TRUE(ledger.records().empty());
  EXPECT_EQ(content(folder / "ledger.jsonl"), "");
}

TEST(LedgerTest, ReaderMakesNothing) {
  const TempFolder folder;
  Ledger ledger = Ledger::open(folder / "none", LedgerMode::kRead);
  EXPECT_TRUE(ledger.records().empty());
  EXPECT_THROW(ledger.append("note", "{}"), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST(BlobStoreTest, StoresByHashAndNoticesDamage) {
  const TempFolder folder;
  const BlobStore store(folder / "blobs");
  const std::string hash = store.put("raw samples");
  EXPECT_EQ(hash, sha256_hex("raw samples"));
  EXPECT_EQ(store.get(hash), "raw samples");
  EXPECT_EQ(store.put("raw samples"), hash);
  std::filesystem::resize_file(store.path_of(hash), 3);
  EXPECT_THROW(store.get(hash), DataError);
  EXPECT_EQ(store.put("raw samples"), hash);
  EXPECT_EQ(store.get(hash), "raw samples");
  EXPECT_THROW(store.get(std::string(64, 'a')), DataError);
  EXPECT_THROW(store.get("../../etc/passwd"), InvalidArgument);
}

TEST(ResultsTableTest, CrashHasNoFigureAndTextStaysInItsCell) {
  ResultRow kept;
  kept.commit = "0123456789abcdef";
  kept.metric = 0.0251234567;
  kept.memory_gb = 0.5;
  kept.status = "keep";
  kept.description = "fundir\tnorma\ny más";
  ResultRow crash;
  crash.commit = "fedcba9876543210";
  crash.status = "crash";
  crash.description = "=cmd()";
  EXPECT_EQ(results_tsv({kept, crash}),
            "commit\tmetric\tmemory_gb\tstatus\tdescription\tlane\tclassification\treason\n"
            "0123456\t0.0251234567\t0.5\tkeep\tfundir\\tnorma\\ny más\t\t\t\n"
            "fedcba9\t\t\tcrash\t'=cmd()\t\t\t\n");
}

}  // namespace
}  // namespace ditar
