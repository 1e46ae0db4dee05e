#include "ditar/coordinator/session.h"

#include "ditar/config/error.h"
#include "scratch_repository.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

Settings small_settings() {
  Settings settings;
  settings.file = "s.json";
  settings.sha256 = std::string(64, '1');
  settings.paths = PathRules({"CMakeLists.txt"}, {"kernels/", "config/engine.json"});
  settings.lanes["cpu-mnist"].name = "cpu-mnist";
  settings.lanes["other"].name = "other";
  return settings;
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    scratch_.put("CMakeLists.txt", "x\n");
    scratch_.put("kernels/a.cc", "1\n");
    scratch_.put("config/engine.json", "{}\n");
    scratch_.put("config/autoresearch.json", "{}\n");
    scratch_.put("scripts/run.sh", "x\n");
    scratch_.put(".gitignore", "/.autoresearch/\n");
    scratch_.commit("base");
    scratch_.shell("git switch -q -c autoresearch/mar5");
  }
  GitRepository git() const { return GitRepository::open(scratch_.root()); }
  StateLayout layout() const { return StateLayout(scratch_.root()); }
  Ledger ledger() const { return Ledger::open(layout().root, LedgerMode::kWrite); }

  ExitCode refusal(const std::string& part) const {
    try {
      Ledger open = ledger();
      bool created = false;
      init_session(git(), open, small_settings(), "cpu-mnist", created);
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
      return error.exit_code();
    }
    return ExitCode::kOk;
  }

  ScratchRepository scratch_;
};

TEST_F(SessionTest, InitRecordsLocksAndRefsOnce) {
  Ledger open = ledger();
  bool created = false;
  const SessionState made = init_session(git(), open, small_settings(), "cpu-mnist", created);
  EXPECT_TRUE(created);
  EXPECT_EQ(made.id, "mar5");
  EXPECT_EQ(made.original, git().head());
  EXPECT_EQ(git().read_ref("refs/dit-ar/mar5/cpu-mnist/best"), git().head());
  EXPECT_EQ(git().read_ref("refs/dit-ar/mar5/cpu-mnist/original"), git().head());
  EXPECT_EQ(made.locks.count("scripts"), 1u);
  EXPECT_EQ(made.locks.count("config/autoresearch.json"), 1u);
  EXPECT_EQ(made.locks.count("kernels/a.cc"), 0u);
  scratch_.put("kernels/a.cc", "dirty\n");
  EXPECT_EQ(init_session(git(), open, small_settings(), "cpu-mnist", created).id, "mar5");
  EXPECT_FALSE(created);
  EXPECT_EQ(open.records().size(), 1u);
  EXPECT_THROW(init_session(git(), open, small_settings(), "other", created), Error);
}

TEST_F(SessionTest, InitRefusesByRule) {
  scratch_.put("kernels/a.cc", "2\n");
  EXPECT_EQ(refusal("not clean (\"kernels/a.cc\")"), ExitCode::kRules);
  scratch_.shell("git checkout -q kernels/a.cc");
  scratch_.put("stray.txt", "x");
  EXPECT_EQ(refusal("not clean (\"stray.txt\")"), ExitCode::kRules);
  scratch_.shell("rm stray.txt && git switch -q main");
  EXPECT_EQ(refusal("autoresearch/<tag>"), ExitCode::kRules);
  scratch_.shell("git checkout -q --detach");
  EXPECT_EQ(refusal("detached HEAD"), ExitCode::kRules);
  scratch_.shell("git switch -q autoresearch/mar5");
  scratch_.put(".gitignore", "\n");
  scratch_.shell("git commit -q -a -m unignored");
  EXPECT_EQ(refusal("does not ignore .autoresearch/"), ExitCode::kRules);
  EXPECT_TRUE(ledger().records().empty());
}

TEST_F(SessionTest, LockFaultsNameEveryFixedPathThatDiffers) {
  Ledger open = ledger();
  bool created = false;
  const SessionState made = init_session(git(), open, small_settings(), "cpu-mnist", created);
  scratch_.put("kernels/a.cc", "faster\n");
  scratch_.put("kernels/new.cc", "x\n");
  scratch_.commit("allowed");
  const PathRules rules = small_settings().paths;
  EXPECT_TRUE(lock_faults(git(), git().head(), rules, made.locks).empty());
  scratch_.put("scripts/run.sh", "evil\n");
  scratch_.put("config/extra.json", "x\n");
  scratch_.shell("git rm -q CMakeLists.txt");
  scratch_.commit("not allowed");
  EXPECT_EQ(lock_faults(git(), git().head(), rules, made.locks),
            (std::vector<std::string>{"CMakeLists.txt", "config/extra.json", "scripts"}));
}

TEST_F(SessionTest, StateFollowsTheRecordsAndRecoverClosesOpenAttempts) {
  Ledger open = ledger();
  bool created = false;
  init_session(git(), open, small_settings(), "cpu-mnist", created);
  open.append("baseline", R"({"session":"mar5","ok":true})");
  open.append("intent", R"({"session":"mar5","id":"mar5-0001","commit":"c1"})");
  open.append("verdict", R"({"session":"mar5","id":"mar5-0001","verdict":"KEEP"})");
  open.append("intent", R"({"session":"mar5","id":"mar5-0002","commit":"c2"})");
  open.append("intent", R"({"session":"else","id":"else-0001","commit":"c3"})");
  const SessionState state = *load_session(open.records(), "autoresearch/mar5");
  EXPECT_TRUE(state.baseline.has_value());
  EXPECT_EQ(state.next_number, 3);
  EXPECT_EQ(attempt_id(state, state.next_number), "mar5-0003");
  EXPECT_EQ(state.verdicts.at("KEEP"), 1);
  ASSERT_EQ(state.open_attempts.size(), 1u);
  EXPECT_EQ(recover_session(open, state, "killed").at(0).id, "mar5-0002");
  const SessionState after = *load_session(open.records(), "autoresearch/mar5");
  EXPECT_TRUE(after.open_attempts.empty());
  EXPECT_EQ(after.verdicts.at("ABANDONED"), 1);
  open.append("session-end", R"({"session":"mar5"})");
  EXPECT_FALSE(load_session(open.records(), "autoresearch/mar5").has_value());
  EXPECT_EQ(init_session(git(), open, small_settings(), "cpu-mnist", created).id, "mar5.2");
}

TEST_F(SessionTest, BestMovesFromWhatWasSeenOnly) {
  Ledger open = ledger();
  bool created = false;
  const SessionState made = init_session(git(), open, small_settings(), "cpu-mnist", created);
  const std::string first = git().head();
  scratch_.put("kernels/a.cc", "2\n");
  scratch_.commit("second");
  const std::string second = git().head();
  EXPECT_THROW(advance_best(git(), made, second, std::string(40, 'a'), "x"), Error);
  advance_best(git(), made, first, second, "KEEP");
  EXPECT_EQ(best_commit(git(), made), second);
  EXPECT_NO_THROW(advance_best(git(), made, first, second, "again after a crash"));
  EXPECT_EQ(archive_commit(git(), made, "mar5-0001", second), "refs/dit-ar/cpu-mnist/mar5-0001");
  EXPECT_NO_THROW(archive_commit(git(), made, "mar5-0001", second));
  EXPECT_THROW(archive_commit(git(), made, "mar5-0001", first), DataError);
}

TEST(SessionTagTest, TakesPlainTagsOnly) {
  EXPECT_EQ(session_tag("autoresearch/mar5"), "mar5");
  EXPECT_EQ(session_tag("autoresearch/a.b_c-1"), "a.b_c-1");
  for (const char* bad : {"main", "autoresearch/", "autoresearch/a/b", "autoresearch/-x",
                          "autoresearch/ñ", "x/autoresearch/a", ""}) {
    EXPECT_EQ(session_tag(bad), "") << bad;
  }
}

}  // namespace
}  // namespace ditar
