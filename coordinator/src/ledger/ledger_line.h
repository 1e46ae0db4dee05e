// One line of the ledger: how it is written, checked and chained. Pure. Internal.
#pragma once

#include "ditar/coordinator/ledger.h"

#include <string>
#include <string_view>

namespace ditar {

inline const std::string kGenesisHash(64, '0');

/// The line with its newline: {"v":1,"seq":..,"prev":"..","t_wall":..,"t_mono":..,"type":"..",
/// "body":{..},"crc":"8 hex"}; crc is CRC-32C of all bytes before `,"crc"`.
std::string make_line(const Record& record, const std::string& previous_hash);

/// SHA-256 of the previous hash's hex text and the whole line with its newline.
std::string chain_hash(const std::string& previous_hash, std::string_view line);

/// Reads one line without its newline. @return empty and fills `record` (all but hash, offset,
/// wall_backwards), or what is wrong with it.
std::string parse_line(std::string_view line, std::int64_t seq, const std::string& previous_hash,
                       Record& record);

/// The body in its stored form (compact, one line). @throws InvalidArgument unless one JSON object.
std::string compact_body(std::string_view body_json);

/// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view bytes) noexcept;

/// Walks a whole file; fills records up to the first fault.
LedgerCheck scan_ledger(std::string_view bytes, std::vector<Record>* records);

}  // namespace ditar
