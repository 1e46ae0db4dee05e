#include "ditar/coordinator/ledger.h"

#include "ditar/config/error.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/file_lock.h"
#include "ledger/file_io.h"
#include "ledger/ledger_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace ditar {
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool good_type(std::string_view type) {
  return !type.empty() && type.size() <= 64 && std::all_of(type.begin(), type.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  });
}

}  // namespace

struct Ledger::Impl {
  std::filesystem::path file;
  std::optional<FileLock> lock;
  FileHandle handle;
  std::vector<Record> records;
  LedgerCheck check;
  std::filesystem::path sealed;
  bool failed = false;  // a sync failed: what is on disk is unknown until the next open

  void open_for_writing(const std::filesystem::path& directory);
  void seal_tail(std::string_view bytes);
  void write_line(const std::string& line);
};

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

const std::vector<Record>& Ledger::records() const noexcept { return impl_->records; }
const LedgerCheck& Ledger::check() const noexcept { return impl_->check; }
const std::filesystem::path& Ledger::sealed_tail() const noexcept { return impl_->sealed; }

Ledger Ledger::open(const std::filesystem::path& state_directory, LedgerMode mode) {
  auto impl = std::make_unique<Impl>();
  impl->file = state_directory / "ledger.jsonl";
  if (mode == LedgerMode::kWrite) {
    impl->open_for_writing(state_directory);
  } else {
    std::error_code error;
    std::string bytes;
    if (std::filesystem::exists(impl->file, error)) bytes = read_whole(impl->file);
    impl->check = scan_ledger(bytes, &impl->records);
  }
  return Ledger(std::move(impl));
}

void Ledger::Impl::open_for_writing(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw IoError("cannot make " + directory.string() + ": " + error.message());
  lock.emplace(directory / "lock");
  handle = open_file(file, O_RDWR | O_CREAT | O_APPEND);
  sync_folder(directory);
  const std::string bytes = read_whole(handle.get(), file);
  check = scan_ledger(bytes, &records);
  if (!check.intact()) {
    throw DataError(file.string() + " is damaged " + check.fault +
                    "; nothing is appended to it. Restore it from a copy; reports still read the " +
                    std::to_string(check.records) + " records before the damage");
  }
  if (check.torn_bytes > 0) seal_tail(bytes);
}

void Ledger::Impl::seal_tail(std::string_view bytes) {
  const auto good = static_cast<std::size_t>(check.good_bytes);
  const std::string base = file.string() + ".torn-" + std::to_string(good);
  sealed = base;
  for (int n = 1; std::filesystem::exists(sealed); ++n) sealed = base + "." + std::to_string(n);
  write_file_durably(sealed, bytes.substr(good));
  if (::ftruncate(handle.get(), static_cast<off_t>(good)) != 0 || ::fsync(handle.get()) != 0) {
    fail_io("cannot cut the torn tail of " + file.string(), errno);
  }
  check.torn_bytes = 0;
  check.fault.clear();
}

void Ledger::Impl::write_line(const std::string& line) {
  struct stat facts {};
  if (::fstat(handle.get(), &facts) != 0) fail_io("cannot read " + file.string(), errno);
  if (facts.st_size != check.good_bytes) {
    failed = true;
    throw DataError(file.string() + " was changed by somebody else while open: it has " +
                    std::to_string(facts.st_size) + " bytes, not " +
                    std::to_string(check.good_bytes) + "; run dit-ar verify");
  }
  ssize_t put = -1;
  int why = 0;
  {
    const FileSizeSignalGuard guard;
    do {
      put = ::write(handle.get(), line.data(), line.size());
    } while (put < 0 && errno == EINTR);
    why = put < 0 ? errno : ENOSPC;
  }
  if (put != static_cast<ssize_t>(line.size())) {
    if (put > 0 && (::ftruncate(handle.get(), static_cast<off_t>(check.good_bytes)) != 0 ||
                    ::fdatasync(handle.get()) != 0)) {
      failed = true;
    }
    fail_io("cannot write to " + file.string() + " (free some space, then run the command again)",
            why);
  }
  if (::fdatasync(handle.get()) != 0) {
    failed = true;
    fail_io("cannot sync " + file.string() + "; the disk is at fault, check it before going on",
            errno);
  }
}

const Record& Ledger::append(std::string_view type, std::string_view body_json) {
  Impl& impl = *impl_;
  if (!impl.handle.valid()) throw InvalidArgument("the ledger was opened to be read only");
  if (impl.failed) {
    throw IoError("an earlier write to " + impl.file.string() + " failed; start the command again");
  }
  if (!good_type(type)) throw InvalidArgument("\"" + std::string(type) + "\" is no record type");
  Record record;
  record.seq = impl.check.records;
  record.type = type;
  record.body = compact_body(body_json);
  record.t_wall_ns = clock_ns(CLOCK_REALTIME);
  record.t_mono_ns = clock_ns(CLOCK_BOOTTIME);
  record.offset = impl.check.good_bytes;
  record.wall_backwards = !impl.records.empty() && record.t_wall_ns < impl.records.back().t_wall_ns;
  const std::string line = make_line(record, impl.check.head_hash);
  record.hash = chain_hash(impl.check.head_hash, line);
  impl.records.reserve(impl.records.size() + 1);
  impl.write_line(line);
  impl.check.head_hash = record.hash;
  impl.check.good_bytes += static_cast<std::int64_t>(line.size());
  ++impl.check.records;
  impl.records.push_back(std::move(record));
  return impl.records.back();
}

LedgerCheck verify_chain(const std::filesystem::path& ledger_file) {
  std::error_code error;
  if (!std::filesystem::exists(ledger_file, error)) return scan_ledger({}, nullptr);
  return scan_ledger(read_whole(ledger_file), nullptr);
}

}  // namespace ditar
