#include "ledger/ledger_line.h"

#include "ditar/config/error.h"
#include "ditar/config/sha256.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

namespace ditar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCrcTail = sizeof(R"(,"crc":"00000000"})") - 1;

std::string hex8(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  static constexpr std::array<std::uint32_t, 256> kTable = make_table();
  std::uint32_t value = ~0u;
  for (const char c : bytes) {
    value = (value >> 8) ^ kTable[(value ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~value;
}

std::string compact_body(std::string_view body_json) {
  Json body = Json::parse(body_json, nullptr, false);
  if (body.is_discarded() || !body.is_object()) {
    throw InvalidArgument("a ledger record's body must be one JSON object");
  }
  try {
    return body.dump();
  } catch (const Json::exception& error) {
    throw InvalidArgument(std::string("a ledger record's body is not valid UTF-8: ") +
                          error.what());
  }
}

std::string make_line(const Record& record, const std::string& previous_hash) {
  std::string line = R"({"v":1,"seq":)" + std::to_string(record.seq) + R"(,"prev":")" +
                     previous_hash + R"(","t_wall":)" + std::to_string(record.t_wall_ns) +
                     R"(,"t_mono":)" + std::to_string(record.t_mono_ns) + R"(,"type":")" +
                     record.type + R"(","body":)" + record.body;
  line += R"(,"crc":")" + hex8(crc32c(line)) + "\"}\n";
  return line;
}

std::string chain_hash(const std::string& previous_hash, std::string_view line) {
  Sha256 hasher;
  hasher.update(previous_hash);
  hasher.update(line);
  return hasher.hex();
}

std::string parse_line(std::string_view line, std::int64_t seq, const std::string& previous_hash,
                       Record& record) {
  if (line.size() <= kCrcTail) return "the line is too short for a record";
  const std::string_view checked = line.substr(0, line.size() - kCrcTail);
  if (line.substr(checked.size()) != R"(,"crc":")" + hex8(crc32c(checked)) + "\"}") {
    return "the checksum does not fit the line";
  }
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return "the line is not JSON";
  try {
    if (json.at("v").get<int>() != 1) return "the record is of a newer version; update dit-ar";
    record.seq = json.at("seq").get<std::int64_t>();
    record.type = json.at("type").get<std::string>();
    record.body = json.at("body").dump();
    record.t_wall_ns = json.at("t_wall").get<std::int64_t>();
    record.t_mono_ns = json.at("t_mono").get<std::int64_t>();
    if (record.seq != seq) {
      return "the record is number " + std::to_string(record.seq) + " where " +
             std::to_string(seq) + " belongs";
    }
    if (json.at("prev").get<std::string>() != previous_hash) {
      return "the record does not continue the hash chain";
    }
  } catch (const Json::exception&) {
    return "the record lacks a key or has a wrong type";
  }
  return {};
}

LedgerCheck scan_ledger(std::string_view bytes, std::vector<Record>* records) {
  LedgerCheck check;
  check.head_hash = kGenesisHash;
  std::int64_t last_wall = 0;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t newline = bytes.find('\n', at);
    Record record;
    std::string fault = "the line has no end";
    if (newline != std::string_view::npos) {
      fault = parse_line(bytes.substr(at, newline - at), check.records, check.head_hash, record);
    }
    if (!fault.empty()) {
      // Only what nothing follows can be the trace of a broken write.
      const bool last = newline == std::string_view::npos;
      check.fault = "at byte " + std::to_string(at) + ": " + fault;
      if (last) check.torn_bytes = static_cast<std::int64_t>(bytes.size() - at);
      if (!last) check.bad_offset = static_cast<std::int64_t>(at);
      break;
    }
    const std::string_view line = bytes.substr(at, newline + 1 - at);
    record.hash = chain_hash(check.head_hash, line);
    record.offset = static_cast<std::int64_t>(at);
    record.wall_backwards = record.t_wall_ns < last_wall;
    last_wall = record.t_wall_ns;
    check.head_hash = record.hash;
    ++check.records;
    at = newline + 1;
    if (records != nullptr) records->push_back(std::move(record));
  }
  check.good_bytes = static_cast<std::int64_t>(at);
  return check;
}

}  // namespace ditar
