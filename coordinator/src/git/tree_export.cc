#include "ditar/coordinator/tree_export.h"

#include "ditar/config/error.h"
#include "ledger/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace ditar {
namespace {

namespace fs = std::filesystem;

std::vector<TreeEntry> checked_entries(const GitRepository& git, const std::string& tree) {
  std::vector<TreeEntry> entries = git.list_tree(tree);
  for (const TreeEntry& entry : entries) {
    std::string fault = path_name_fault(entry.path);
    if (entry.mode == "120000") fault = "is a symbolic link";
    if (entry.mode == "160000") fault = "is a submodule";
    if (!fault.empty()) {
      throw DataError("\"" + entry.path + "\" of tree " + tree + " " + fault +
                      "; such a tree is not built");
    }
  }
  return entries;
}

mode_t mode_of(const TreeEntry& entry) { return entry.mode == "100755" ? 0755 : 0644; }

bool is_same(const fs::path& file, const std::string& bytes, mode_t mode) {
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if ((facts.st_mode & 0777) != mode) return false;
  return facts.st_size == static_cast<off_t>(bytes.size()) && read_whole(file) == bytes;
}

// Makes every folder of `path` below `directory` a real folder.
void make_folders(const fs::path& directory, const fs::path& path) {
  fs::path at = directory;
  for (const fs::path& part : path.parent_path()) {
    at /= part;
    const fs::file_status status = fs::symlink_status(at);
    if (fs::exists(status) && !fs::is_directory(status)) fs::remove(at);
    fs::create_directory(at);
  }
}

void write_entry(const fs::path& file, const std::string& bytes, mode_t mode) {
  std::error_code ignored;
  fs::remove_all(file, ignored);
  const FileHandle handle = open_file(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  write_all(handle.get(), bytes, file);
  if (::fchmod(handle.get(), mode) != 0) fail_io("cannot write " + file.string(), errno);
}

int remove_others(const fs::path& directory, const std::set<std::string>& wanted) {
  std::vector<fs::path> extra, folders;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_directory() && !entry.is_symlink()) {
      folders.push_back(entry.path());
    } else if (wanted.count(entry.path().lexically_relative(directory).generic_string()) == 0) {
      extra.push_back(entry.path());
    }
  }
  for (const fs::path& file : extra) fs::remove(file);
  std::sort(folders.rbegin(), folders.rend());  // children before their folder
  for (const fs::path& folder : folders) {
    if (fs::is_empty(folder)) fs::remove(folder);
  }
  return static_cast<int>(extra.size());
}

}  // namespace

ExportResult sync_tree(const GitRepository& git, const std::string& tree,
                       const std::filesystem::path& directory) {
  const std::vector<TreeEntry> entries = checked_entries(git, tree);
  std::vector<std::string> objects;
  std::set<std::string> wanted;
  for (const TreeEntry& entry : entries) {
    objects.push_back(entry.object);
    wanted.insert(entry.path);
  }
  const std::vector<std::string> blobs = git.read_blobs(objects);
  ExportResult result;
  try {
    fs::create_directories(directory);
    result.removed = remove_others(directory, wanted);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const fs::path file = directory / entries[i].path;
      make_folders(directory, entries[i].path);
      if (is_same(file, blobs[i], mode_of(entries[i]))) {
        ++result.kept;
      } else {
        write_entry(file, blobs[i], mode_of(entries[i]));
        ++result.written;
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot export a tree: ") + error.what());
  }
  return result;
}

}  // namespace ditar
