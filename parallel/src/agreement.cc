#include "ditar/parallel/agreement.h"

#include "ditar/config/error.h"

#include <algorithm>
#include <cstdint>

namespace ditar {

namespace {

/// Names and values, each with its length before it, so that no value can look like another's end.
std::string encode(const std::vector<AgreedField>& fields) {
  std::string text;
  for (const AgreedField& field : fields) {
    for (const std::string* part : {&field.name, &field.value}) {
      text += std::to_string(part->size()) + ":" + *part;
    }
  }
  return text;
}

std::vector<AgreedField> decode(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text.find(':', at);
    const std::size_t size = std::stoul(text.substr(at, colon - at));
    parts.push_back(text.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  std::vector<AgreedField> fields;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) fields.push_back({parts[i], parts[i + 1]});
  return fields;
}

/// FNV-1a, 64 bits.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::vector<std::string> gather(Communicator& world, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(ranks);
  world.all_gather(&length, lengths.data(), 1, DType::kI64, {});
  const std::int64_t most = *std::max_element(lengths.begin(), lengths.end());
  std::string padded = mine;
  padded.resize(static_cast<std::size_t>(most));
  std::string all(ranks * padded.size(), '\0');
  world.all_gather(padded.data(), all.data(), most, DType::kU8, {});
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r) {
    texts.push_back(all.substr(r * padded.size(), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

[[noreturn]] void explain(const std::vector<std::string>& texts) {
  const std::vector<AgreedField> first = decode(texts.front());
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const std::vector<AgreedField> other = decode(texts[rank]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const AgreedField a = i < first.size() ? first[i] : AgreedField{};
      const AgreedField b = i < other.size() ? other[i] : AgreedField{};
      if (a.name == b.name && a.value == b.value) continue;
      throw InvalidArgument("rank " + std::to_string(rank) + " has " +
                            (b.name.empty() ? a.name : b.name) + " \"" + b.value +
                            "\", rank 0 has \"" + a.value +
                            "\"; start all ranks with the same program and options");
    }
  }
  throw InvalidArgument("the ranks differ in what they are to compute");
}

}  // namespace

void require_agreement(Communicator& world, const std::vector<AgreedField>& fields) {
  const std::string mine = encode(fields);
  const auto hash = static_cast<std::int64_t>(hash_of(mine));
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(world.size()));
  world.all_gather(&hash, hashes.data(), 1, DType::kI64, {});
  if (std::all_of(hashes.begin(), hashes.end(), [&](std::int64_t h) { return h == hash; })) return;
  explain(gather(world, mine));
}

}  // namespace ditar
