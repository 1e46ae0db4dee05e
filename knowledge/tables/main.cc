// handbook-tables: prints, checks or writes the computed tables of the handbook's pages.
#include "ditar/config/error.h"
#include "tables.h"

#include <iostream>
#include <string_view>

namespace {

constexpr std::string_view kUsage =
    "usage: handbook-tables --check DIR   exit 1 where a page and the program differ\n"
    "       handbook-tables --write DIR   rewrite the tables between their markers\n"
    "       handbook-tables --print NAME  one table\n"
    "       handbook-tables --list        the names\n"
    "example: handbook-tables --check knowledge/handbook\n";

int run(std::string_view mode, std::string_view argument) {
  namespace tables = ditar::tables;
  if (mode == "--list") {
    for (const auto& name : tables::table_names()) std::cout << name << '\n';
    return 0;
  }
  if (mode == "--print") {
    std::cout << tables::make_table(argument);
    return 0;
  }
  if (mode == "--write") {
    std::cout << tables::write_pages(argument) << " page(s) rewritten\n";
    return 0;
  }
  const auto differences = tables::check_pages(argument);
  for (const auto& page : differences) {
    std::cout << page.page.string() << ':' << page.line
              << ": the table differs; run handbook-tables --write\n";
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool list = mode == "--list" && argc == 2;
  const bool known = mode == "--check" || mode == "--write" || mode == "--print";
  if (!list && !(known && argc == 3)) {
    std::cerr << kUsage;
    return mode == "--help" ? 0 : ditar::to_int(ditar::ExitCode::kUsage);
  }
  try {
    return run(mode, list ? "" : argv[2]);
  } catch (const ditar::Error& error) {
    std::cerr << "handbook-tables: " << error.message() << '\n';
    return ditar::to_int(error.exit_code());
  } catch (const std::exception& error) {
    std::cerr << "handbook-tables: " << error.what() << '\n';
    return ditar::to_int(ditar::ExitCode::kFailure);
  }
}
