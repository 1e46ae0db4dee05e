// The append-only record of a repository: `.autoresearch/ledger.jsonl`, one JSON line per record in
// a hash chain. One writer at a time (kernel lock); any number of readers, each with a consistent
// snapshot. A Ledger belongs to one thread; it owns its file and lock, and is move-only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

struct Record {
  std::int64_t seq = 0;         ///< 0, 1, 2, ...
  std::string type;             ///< "session-init", "baseline", "intent", "verdict", ...
  std::string body;             ///< JSON text of one object
  std::string hash;             ///< SHA-256 of (previous hash's hex, line with its newline)
  std::int64_t t_wall_ns = 0;   ///< UTC since 1970; may jump back, see `wall_backwards`
  std::int64_t t_mono_ns = 0;   ///< CLOCK_BOOTTIME of that boot; compare within one boot only
  bool wall_backwards = false;  ///< its wall clock is before its predecessor's
  std::int64_t offset = 0;      ///< of the line's first byte
};

/// What a scan found.
struct LedgerCheck {
  std::int64_t records = 0;
  std::int64_t good_bytes = 0;   ///< length of the valid prefix
  std::int64_t torn_bytes = 0;   ///< last line without its newline: a write cut short
  std::string head_hash;         ///< of the last good record; 64 zeros if there is none
  std::int64_t bad_offset = -1;  ///< of the first damaged line that has its newline; -1
  std::string fault;             ///< one sentence about the damage; empty: none
  bool intact() const noexcept { return bad_offset < 0; }
};

enum class LedgerMode : std::uint8_t { kRead, kWrite };

class Ledger {
 public:
  /// Opens `state_directory`/ledger.jsonl. kWrite makes the folder and file if missing, takes the
  /// lock, and seals a torn tail: its bytes go to `ledger.jsonl.torn-<offset>`, then the file is
  /// cut. kRead takes no lock and changes nothing; a missing file is an empty ledger.
  /// @throws Error (exit 75) with the holder's pid and start time if another writer lives;
  /// DataError with the offset if the middle is damaged (kWrite only); IoError.
  static Ledger open(const std::filesystem::path& state_directory, LedgerMode mode);
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Writes one record and returns it when it is on disk. Blocks for one fdatasync.
  /// @param type  letters, digits, '-' and '.'; @param body_json  text of one JSON object.
  /// @throws InvalidArgument for a bad type or body; IoError if it could not be written: a short
  /// write is cut back, the ledger stays good and may be tried again; after a failed sync every
  /// further append of this object is refused.
  const Record& append(std::string_view type, std::string_view body_json);

  /// All good records, oldest first, as of open() (kRead) and of the last append (kWrite).
  const std::vector<Record>& records() const noexcept;
  const LedgerCheck& check() const noexcept;
  /// Where a torn tail was put by this open(); empty if there was none.
  const std::filesystem::path& sealed_tail() const noexcept;

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Scans the file: chain, sequence, checksums. Changes nothing. A missing file is empty and intact.
LedgerCheck verify_chain(const std::filesystem::path& ledger_file);

}  // namespace ditar
