// Faults of disk and processes against the ledger: no acknowledged record is lost, none is
// invented.
#include "ditar/config/error.h"
#include "ditar/coordinator/ledger.h"
#include "temp_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

namespace ditar {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void put(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// A good ledger of `count` records; gives its bytes.
std::string make_ledger(const std::filesystem::path& folder, int count) {
  {
    Ledger ledger = Ledger::open(folder, LedgerMode::kWrite);
    for (int i = 0; i < count; ++i) ledger.append("note", "{\"n\":" + std::to_string(i) + "}");
  }
  return content(folder / "ledger.jsonl");
}

TEST(LedgerFaultTest, TruncationAtEveryByteOfTheLastRecordKeepsTheRest) {
  const TempFolder folder;
  const std::string whole = make_ledger(folder.path(), 3);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t cut = last; cut < whole.size(); ++cut) {
    put(folder / "ledger.jsonl", whole.substr(0, cut));
    const auto sealed = folder / ("ledger.jsonl.torn-" + std::to_string(last));
    std::filesystem::remove(sealed);
    Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
    ASSERT_EQ(ledger.records().size(), 2u) << cut;
    EXPECT_EQ(ledger.sealed_tail().empty(), cut == last);
    if (cut > last) {
      EXPECT_EQ(content(sealed), whole.substr(last, cut - last));
    }
    ledger.append("note", "{\"n\":9}");
    EXPECT_TRUE(verify_chain(folder / "ledger.jsonl").intact());
    EXPECT_EQ(verify_chain(folder / "ledger.jsonl").records, 3);
  }
}

TEST(LedgerFaultTest, EveryFlippedByteIsNoticed) {
  const TempFolder folder;
  const std::string whole = make_ledger(folder.path(), 3);
  const std::string head = verify_chain(folder / "ledger.jsonl").head_hash;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      put(folder / "ledger.jsonl", bad);
      const LedgerCheck check = verify_chain(folder / "ledger.jsonl");
      ASSERT_NE(check.head_hash, head) << at;
      ASSERT_LT(check.records, 3) << at;
      ASSERT_FALSE(check.fault.empty()) << at;
    }
  }
}

TEST(LedgerFaultTest, DamageInTheMiddleRefusesToAppendAndNamesTheOffset) {
  const TempFolder folder;
  const std::string whole = make_ledger(folder.path(), 3);
  const std::size_t second = whole.find('\n') + 1;
  std::string deleted = whole;
  deleted.erase(second, whole.find('\n', second) + 1 - second);
  std::string flipped = whole;
  flipped[second + 5] = '?';
  for (const std::string& bad : {deleted, flipped}) {
    put(folder / "ledger.jsonl", bad);
    try {
      Ledger::open(folder.path(), LedgerMode::kWrite);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_NE(error.message().find("at byte " + std::to_string(second)), std::string::npos)
          << error.message();
    }
    EXPECT_EQ(content(folder / "ledger.jsonl"), bad);
    EXPECT_EQ(Ledger::open(folder.path(), LedgerMode::kRead).records().size(), 1u);
  }
}

TEST(LedgerFaultTest, NulTailIsSealed) {
  const TempFolder folder;
  const std::string whole = make_ledger(folder.path(), 2);
  put(folder / "ledger.jsonl", whole + std::string(4096, '\0'));
  const Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
  EXPECT_EQ(ledger.records().size(), 2u);
  EXPECT_EQ(content(ledger.sealed_tail()), std::string(4096, '\0'));
  EXPECT_EQ(content(folder / "ledger.jsonl"), whole);
}

TEST(LedgerFaultTest, ShortWriteIsCutBackAndMayBeTriedAgain) {
  const TempFolder folder;
  const std::string whole = make_ledger(folder.path(), 2);
  Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    rlimit limit = before;
    limit.rlim_cur = whole.size() + room;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_THROW(ledger.append("note", "{\"n\":7}"), IoError);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(content(folder / "ledger.jsonl"), whole);
  }
  EXPECT_EQ(ledger.append("note", "{\"n\":8}").seq, 2);
  EXPECT_TRUE(verify_chain(folder / "ledger.jsonl").intact());
}

TEST(LedgerFaultTest, SecondWriterIsRefusedWithTheHolder) {
  const TempFolder folder;
  {
    const Ledger first = Ledger::open(folder.path(), LedgerMode::kWrite);
    try {
      Ledger::open(folder.path(), LedgerMode::kWrite);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kTemporary);
      EXPECT_NE(error.message().find("pid " + std::to_string(getpid()) + ", started 2"),
                std::string::npos)
          << error.message();
    }
    EXPECT_NO_THROW(Ledger::open(folder.path(), LedgerMode::kRead));
  }
  EXPECT_NO_THROW(Ledger::open(folder.path(), LedgerMode::kWrite));
}

TEST(LedgerFaultTest, LeftOverLockFileDoesNotMatter) {
  const TempFolder folder;
  for (const std::string text : {"", "pid 1, started 2020-01-01T00:00:00Z\n", "\x01\xff rubbish"}) {
    put(folder / "lock", text);
    EXPECT_NO_THROW(Ledger::open(folder.path(), LedgerMode::kWrite).append("note", "{}"));
  }
}

TEST(LedgerFaultTest, LockIsNotInheritedByPrograms) {
  const TempFolder folder;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  pid_t child = 0;
  {
    const Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
    child = fork();
    if (child == 0) {
      dup2(pipe_ends[1], 1);
      execl("/bin/sh", "sh", "-c", "echo x; exec sleep 20", nullptr);
      _exit(1);
    }
    char byte = 0;
    ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);  // the program runs
  }
  EXPECT_NO_THROW(Ledger::open(folder.path(), LedgerMode::kWrite));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(LedgerFaultTest, ForeignChangeWhileOpenIsRefused) {
  const TempFolder folder;
  Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
  ledger.append("note", "{}");
  std::ofstream(folder / "ledger.jsonl", std::ios::app) << "x";
  EXPECT_THROW(ledger.append("note", "{}"), DataError);
  EXPECT_THROW(ledger.append("note", "{}"), IoError);
}

TEST(LedgerFaultTest, ReadersSeeConsistentSnapshotsWhileItGrows) {
  const TempFolder folder;
  make_ledger(folder.path(), 1);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
    const std::string text(3000, 'x');
    for (int i = 0; i < 100; ++i) ledger.append("note", "{\"t\":\"" + text + "\"}");
    done = true;
  });
  std::int64_t last = 0;
  while (!done) {
    const Ledger ledger = Ledger::open(folder.path(), LedgerMode::kRead);
    EXPECT_TRUE(ledger.check().intact()) << ledger.check().fault;
    EXPECT_GE(ledger.check().records, last);
    last = ledger.check().records;
  }
  writer.join();
  EXPECT_EQ(verify_chain(folder / "ledger.jsonl").records, 101);
}

TEST(LedgerFaultTest, KilledWriterLosesNoAcknowledgedRecord) {
  for (int round = 0; round < 8; ++round) {
    const TempFolder folder;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
      while (true) {
        ledger.append("note", "{}");
        if (write(ends[1], "a", 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    std::int64_t acknowledged = 0;
    char byte = 0;
    while (acknowledged < 3 + round * 5 && read(ends[0], &byte, 1) == 1) ++acknowledged;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(ends[0], &byte, 1) == 1) ++acknowledged;
    close(ends[0]);
    const Ledger ledger = Ledger::open(folder.path(), LedgerMode::kWrite);
    EXPECT_GE(ledger.check().records, acknowledged);
    EXPECT_LE(ledger.check().records, acknowledged + 1);
  }
}

}  // namespace
}  // namespace ditar
