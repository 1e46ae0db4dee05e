// What a build's result depends on beside the tree, and what decides whether the slot may be built
// on. Internal.
#pragma once

#include "ditar/coordinator/candidate_build.h"

#include <map>
#include <string>

namespace ditar {

struct BuildTools {
  std::filesystem::path cmake, ninja, compiler;
  std::filesystem::path nvcc;  ///< empty: not asked for
};

/// Whether a path is one that CMake reads by its name.
bool is_cmake_file(const std::string& path);

/// @throws Unavailable naming what is missing.
BuildTools find_build_tools(const std::map<std::string, std::string>& environment, bool cuda);

/// The environment of configure and compile: the allowed names, then what makes results repeatable.
std::map<std::string, std::string> build_environment(const BuildRequest& request);

/// SHA-256 over the tools' versions, options and environment.
std::string build_recipe(const BuildRequest& request, const BuildTools& tools,
                         const std::map<std::string, std::string>& environment);

/// SHA-256 over the recipe, the CMake files and the names of all files of a tree. While it stays
/// the same, trees differ only in contents of files whose use the compiler's dependency files
/// record, so that building on is the same as building anew. A file added or removed could change
/// which header an #include finds, without any recorded dependency: then the slot is emptied.
std::string slot_stamp(const std::string& recipe, const std::vector<TreeEntry>& entries);

}  // namespace ditar
