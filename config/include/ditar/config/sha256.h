// SHA-256 of bytes and files, as lower-case hex. Stateless; thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ditar {

/// Incremental hasher. Move-only; one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// The 64 hex digits; the hasher must not be updated afterwards.
  std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string sha256_hex(std::string_view bytes);
std::string sha256_hex(std::span<const std::byte> bytes);
/// Reads the whole file. @throws IoError if it cannot be read.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace ditar
