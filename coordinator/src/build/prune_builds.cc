#include "ditar/config/error.h"
#include "ditar/coordinator/candidate_build.h"

#include <algorithm>

namespace ditar {
namespace {

namespace fs = std::filesystem;

struct Item {
  fs::path folder;
  fs::file_time_type used;
  std::int64_t bytes = 0;
};

std::int64_t size_of(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) {
      bytes += static_cast<std::int64_t>(entry.file_size());
    }
  }
  return bytes;
}

bool is_kept(const fs::path& folder, const std::vector<std::string>& keep) {
  const std::string name = folder.filename().string();
  return std::any_of(keep.begin(), keep.end(), [&name](const std::string& tree) {
    return !tree.empty() && name.rfind(tree, 0) == 0;
  });
}

}  // namespace

std::int64_t prune_builds(const std::filesystem::path& state_directory, std::int64_t budget_bytes,
                          const std::vector<std::string>& keep) {
  try {
    std::vector<Item> items;
    std::int64_t total = 0, freed = 0;
    for (const char* part : {"trees", "builds"}) {
      if (!fs::is_directory(state_directory / part)) continue;
      for (const auto& entry : fs::directory_iterator(state_directory / part)) {
        if (!entry.is_directory() || entry.is_symlink()) continue;
        items.push_back({entry.path(), entry.last_write_time(), size_of(entry.path())});
        total += items.back().bytes;
      }
    }
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.used < b.used; });
    for (const Item& item : items) {
      if (total - freed <= budget_bytes) break;
      if (is_kept(item.folder, keep)) continue;
      fs::remove_all(item.folder);
      freed += item.bytes;
    }
    return freed;
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot remove old builds: ") + error.what());
  }
}

}  // namespace ditar
