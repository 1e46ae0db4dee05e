#include "ditar/config/wire_frame.h"

#include <sys/random.h>

#include <cerrno>

namespace ditar {

std::string AttemptId::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

AttemptId AttemptId::random() {
  AttemptId id;
  ssize_t got = 0;
  do {
    got = ::getrandom(id.bytes.data(), id.bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(id.bytes.size())) {
    throw IoError("the system gives no random bytes for an attempt id (getrandom failed)");
  }
  return id;
}

AttemptId AttemptId::parse(std::string_view text) {
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
    throw InvalidArgument("attempt id \"" + std::string(text) +
                          "\" is not 32 lower-case hex digits");
  };
  AttemptId id;
  require(text.size() == 2 * id.bytes.size(),
          "attempt id \"" + std::string(text) + "\" is not 32 lower-case hex digits");
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<std::uint8_t>((digit(text[2 * i]) << 4) | digit(text[2 * i + 1]));
  }
  return id;
}

}  // namespace ditar
