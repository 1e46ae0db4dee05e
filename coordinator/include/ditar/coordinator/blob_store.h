// Content-addressed files of a state folder: `blobs/<first two hex>/<sha256>`. A stored blob is on
// disk before put() returns, so a ledger line may name it. Holds a path only; threads may share it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ditar {

class BlobStore {
 public:
  explicit BlobStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Stores the bytes (temporary file, fsync, rename, fsync of the folder) and gives their SHA-256.
  std::string put(std::string_view bytes) const;
  /// @throws DataError if the blob is missing or its bytes do not have that hash.
  std::string get(const std::string& sha256) const;
  bool has(const std::string& sha256) const;
  std::filesystem::path path_of(const std::string& sha256) const;

 private:
  std::filesystem::path directory_;
};

/// Replaces a file in one step: temporary file beside it, fsync, rename, fsync of the folder.
/// @throws IoError; the old file is then untouched.
void write_file_durably(const std::filesystem::path& file, std::string_view bytes);

}  // namespace ditar
