#include "ditar/config/sha256.h"

#include "ditar/config/error.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <vector>

namespace ditar {

struct Sha256::Impl {
  EVP_MD_CTX* context = nullptr;
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  impl_->context = EVP_MD_CTX_new();
  if (impl_->context == nullptr || EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) != 1) {
    throw Error("SHA-256 is not available in this OpenSSL");
  }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) != 1) {
    throw Error("SHA-256 update failed");
  }
}

void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(impl_->context, digest.data(), &size) != 1) {
    throw Error("SHA-256 finish failed");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    text.push_back(kDigits[digest[i] >> 4]);
    text.push_back(kDigits[digest[i] & 15]);
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hasher;
  hasher.update(bytes);
  return hasher.hex();
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hasher;
  hasher.update(bytes);
  return hasher.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError("cannot read " + path.string());
  Sha256 hasher;
  std::vector<char> chunk(1 << 20);
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    hasher.update(std::string_view(chunk.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (file.bad()) throw IoError("reading " + path.string() + " failed");
  return hasher.hex();
}

}  // namespace ditar
