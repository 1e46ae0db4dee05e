#include "ditar/knowledge/search.h"

#include "ditar/config/error.h"
#include "test_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace ditar {
namespace {

namespace fs = std::filesystem;

const fs::path kHandbook = fs::path(DITAR_SOURCE_DIR) / "knowledge" / "handbook";

class SearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() /
           ("ditar-search-" + std::to_string(::getpid()) + "-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(book() / "03_single_gpu");
    write("03_single_gpu/01_attention.md",
          "# Attention backends\n\n## Mechanism\nFlash attention tiles keys.\n\n"
          "## Softmax\nThe online_softmax_kernel rescales.\n");
    write("03_single_gpu/02_norms.md",
          "# LayerNorm fusion\n\n## Mechanism\nOne pass over the row; less VRAM traffic.\n");
    write("09_glossary_english_spanish.md",
          "# Glossary\n\n| English | Spanish | meaning |\n|---|---|---|\n"
          "| attention | atención | mixing |\n| vram | memoria de vídeo | memory |\n");
    std::ofstream(dir_ / "synonyms.txt") << "layernorm, layer norm, norm\n";
  }
  void TearDown() override { fs::remove_all(dir_); }

  fs::path book() const { return dir_ / "handbook"; }
  fs::path cache() const { return dir_ / "cache"; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(book() / name, std::ios::binary) << text;
  }

  fs::path dir_;
};

TEST_F(SearchTest, FindsPassagesByWordPartSynonymAndSpanish) {
  const Search search(book());
  EXPECT_EQ(search.query("softmax").results.at(0).heading, "Softmax");
  EXPECT_EQ(search.query("online_softmax_kernel").results.at(0).heading, "Softmax");
  EXPECT_EQ(search.query("norms").results.at(0).path, "03_single_gpu/02_norms.md");
  EXPECT_EQ(search.query("¿memoria de vídeo?").results.at(0).path, "03_single_gpu/02_norms.md");
  EXPECT_EQ(search.query("Atención").results.at(0).path, "03_single_gpu/01_attention.md");
  EXPECT_EQ(search.query("softmax").results.at(0).line, 6);
}

TEST_F(SearchTest, PageThatIsAboutItComesBeforePagesThatMentionIt) {
  write("03_single_gpu/03_mentions.md",
        "# Arena\n\nMemory shared.\n\n## Mechanism\nA watchdog, a watchdog and a watchdog.\n");
  write("03_single_gpu/04_about.md",
        "# Hazards\n\nAsked as: the watchdog ended my run.\n\n## Mechanism\nA watchdog waits.\n");
  write("03_single_gpu/05_symptom.md",
        "# Launch\n\nStarting.\n\n## How it goes wrong\n\nSymptoms: orphans remain.\n");
  write("03_single_gpu/06_passing.md",
        "# Wire\n\nFrames.\n\n## Mechanism\nNo orphans remain here, orphans never remain.\n");
  const Search search(book());
  EXPECT_EQ(search.query("watchdog").results.at(0).path, "03_single_gpu/04_about.md");
  EXPECT_EQ(search.query("orphans remain").results.at(0).path, "03_single_gpu/05_symptom.md");
}

TEST_F(SearchTest, CorrectsSpellingAndSaysSo) {
  const SearchAnswer answer = Search(book()).query("sofmtax");
  EXPECT_EQ(answer.corrections, std::vector<std::string>{"sofmtax -> softmax"});
  EXPECT_EQ(answer.results.at(0).heading, "Softmax");
}

TEST_F(SearchTest, SaysWhenNothingSupportsTheIdea) {
  const SearchAnswer answer = Search(book()).query("quantum annealing of tokens");
  EXPECT_FALSE(answer.support);
  EXPECT_EQ(answer.label, kUnsupportedLabel);
  EXPECT_NE(answer.evidence.find("\"quantum\""), std::string::npos);
  const SearchAnswer good = Search(book()).query("flash attention");
  EXPECT_TRUE(good.support);
  EXPECT_TRUE(good.label.empty());
}

TEST_F(SearchTest, TakesTheTextAsItIs) {
  const Search search(book());
  for (const std::string text :
       {"\"flash\" +attention -softmax", "flash NOT attention AND (",
        "flash* attention~2 ^ :", "title:flash OR attention", "-- flash ; attention \\ ' `"}) {
    EXPECT_EQ(search.query(text).results.at(0).path, "03_single_gpu/01_attention.md") << text;
  }
  for (const std::string text : {"", "   ", "+ - \" '", "the of and", "\xFF\xFE\xFD"}) {
    const SearchAnswer answer = search.query(text);
    EXPECT_FALSE(answer.support) << text;
    EXPECT_TRUE(answer.results.empty()) << text;
  }
  EXPECT_NO_THROW(search.query(std::string(1 << 20, 'q')));
  EXPECT_NO_THROW(search.query("注意力 внимание \xF0\x9F\x9A\x80"));
  EXPECT_THROW(search.query("attention", 0), InvalidArgument);
}

TEST_F(SearchTest, RebuildsItsCacheWhenAPageChanges) {
  EXPECT_FALSE(Search(book(), cache()).from_cache());
  EXPECT_TRUE(Search(book(), cache()).from_cache());
  write("03_single_gpu/02_norms.md", "# Norms\n\n## Mechanism\nA zebra crossing.\n");
  const Search changed(book(), cache());
  EXPECT_FALSE(changed.from_cache());
  EXPECT_EQ(changed.query("zebra").results.at(0).path, "03_single_gpu/02_norms.md");
  std::ofstream(dir_ / "synonyms.txt") << "zebra, stripes\n";
  const Search again(book(), cache());
  EXPECT_FALSE(again.from_cache());
  EXPECT_EQ(again.query("stripes").results.at(0).path, "03_single_gpu/02_norms.md");
  EXPECT_EQ(std::distance(fs::directory_iterator(cache()), fs::directory_iterator{}), 1);
}

TEST_F(SearchTest, SurvivesADamagedOrForbiddenCache) {
  { Search warm(book(), cache()); }
  for (const auto& entry : fs::recursive_directory_iterator(cache())) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), 10);
  }
  EXPECT_EQ(Search(book(), cache()).query("softmax").results.at(0).heading, "Softmax");
  std::ofstream(dir_ / "file") << "x";
  const Search in_memory(book(), dir_ / "file" / "below");  // cannot be created, even as root
  EXPECT_FALSE(in_memory.from_cache());
  EXPECT_EQ(in_memory.query("softmax").results.at(0).heading, "Softmax");
}

TEST_F(SearchTest, SameAnswerFromCacheAndMemory) {
  { Search warm(book(), cache()); }
  const auto cached = Search(book(), cache()).query("norm attention vram", 5);
  const auto memory = Search(book()).query("norm attention vram", 5);
  ASSERT_EQ(cached.results.size(), memory.results.size());
  for (std::size_t i = 0; i < cached.results.size(); ++i) {
    EXPECT_EQ(cached.results[i].path, memory.results[i].path);
    EXPECT_DOUBLE_EQ(cached.results[i].score, memory.results[i].score);
  }
}

TEST_F(SearchTest, FindsExperimentsButTheySupportNothing) {
  Search search(book(), cache());
  search.add_experiments({{"e0003",
                           "abc1234",
                           "exact",
                           "DISCARD",
                           "Polyphase zigzag reordering",
                           "no gain: 0.1 % below the detectable effect",
                           {}},
                          {"e0004",
                           "def5678",
                           "exact",
                           "KEEP",
                           "Fusión de normas en una pasada",
                           "faster by 3 %",
                           {"03_single_gpu/02_norms.md"}}});
  const SearchAnswer found = search.query("polyphase zigzag");
  ASSERT_FALSE(found.results.empty());
  EXPECT_EQ(found.results[0].path, "experiment:e0003");
  EXPECT_EQ(found.results[0].kind, "experiment");
  EXPECT_NE(found.results[0].heading.find("DISCARD"), std::string::npos);
  EXPECT_FALSE(found.support);
  const SearchAnswer spanish = search.query("fusion normas pasada");
  EXPECT_TRUE(std::any_of(spanish.results.begin(), spanish.results.end(),
                          [](const auto& result) { return result.path == "experiment:e0004"; }));
}

TEST_F(SearchTest, RefusesAFolderWithoutPages) {
  EXPECT_THROW(Search(dir_ / "nowhere"), Unavailable);
}

TEST(HandbookSearchTest, ContractGoesFirstWhereItOverrides) {
  const Search search(kHandbook);
  for (const char* text : {"FlashAttention-3 on Hopper", "fp8 e4m3 tensor cores speed-up H100",
                           "fp16 accumulation for faster GEMM", "INT8 quantization small loss",
                           "use A100 tile 256x128"}) {
    const SearchAnswer answer = search.query(text);
    ASSERT_FALSE(answer.results.empty()) << text;
    EXPECT_EQ(answer.results[0].kind, "contract") << text;
  }
  EXPECT_NE(search.query("nvlink bridge seating").results.at(0).kind, "contract");
}

TEST(HandbookSearchTest, RequiredPagesExist) {
  ASSERT_EQ(required_handbook_pages().size(), 6U);
  for (const std::string& page : required_handbook_pages()) {
    EXPECT_TRUE(fs::is_regular_file(kHandbook / page)) << page;
  }
}

}  // namespace
}  // namespace ditar
