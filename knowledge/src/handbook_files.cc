#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "index.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace ditar::knowledge {
namespace {

// Raise when the documents' terms or fields change.
constexpr std::string_view kIndexFormat = "passages-6";

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) {
    throw IoError("cannot read " + path.string() + "; check that the file is readable");
  }
  return text;
}

std::vector<std::filesystem::path> markdown_files(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(dir, error);
  if (error) return found;
  for (; it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    if (error) break;
    if (it->is_regular_file(error) && it->path().extension() == ".md") found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void feed(Sha256& hash, std::string_view part) {
  hash.update(std::to_string(part.size()) + ":");
  hash.update(part);
}

}  // namespace

HandbookFiles read_handbook(const std::filesystem::path& handbook_dir) {
  HandbookFiles files;
  Sha256 hash;
  feed(hash, kIndexFormat);
  feed(hash, std::to_string(kTokenizerVersion));
  for (const auto& file : markdown_files(handbook_dir)) {
    HandbookFiles::Page page;
    page.path = file.lexically_relative(handbook_dir).generic_string();
    page.text = read_text(file);
    feed(hash, page.path);
    feed(hash, page.text);
    if (page.path.ends_with(kGlossaryPage)) files.glossary = page.text;
    files.pages.push_back(std::move(page));
  }
  if (files.pages.empty()) {
    throw Unavailable("no handbook page (*.md) below " + handbook_dir.string() +
                      "; give the folder knowledge/handbook of a complete checkout");
  }
  const auto root = handbook_dir.has_filename() ? handbook_dir : handbook_dir.parent_path();
  const auto synonyms = root.parent_path() / "synonyms.txt";
  if (std::filesystem::exists(synonyms)) files.synonyms = read_text(synonyms);
  feed(hash, files.synonyms);
  const auto common = root.parent_path() / "common_words.txt";
  if (std::filesystem::exists(common)) files.common = read_text(common);
  files.stamp = hash.hex();
  return files;
}

}  // namespace ditar::knowledge

namespace ditar {

std::vector<std::string> handbook_pages(const std::filesystem::path& handbook_dir) {
  std::vector<std::string> pages;
  for (const auto& file : knowledge::markdown_files(handbook_dir)) {
    const std::string page = file.lexically_relative(handbook_dir).generic_string();
    if (page != "README.md") pages.push_back(page);
  }
  return pages;
}

}  // namespace ditar
