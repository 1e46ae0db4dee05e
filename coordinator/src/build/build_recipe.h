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

/// What must be unchanged for a slot to be built on. Contents of sources need not be: the
/// compiler's dependency files record their use.
struct SlotStamp {
  /// SHA-256 over the recipe and the names of all files that an #include could find. A header that
  /// comes or goes may change what an #include finds, without any recorded dependency: then the
  /// slot is emptied.
  std::string names;
  /// SHA-256 over the CMake files. Where they change, all that CMake wrote goes, cache and
  /// generated files included; the objects stay, for Ninja compares each with its command line.
  std::string cmake;
};
SlotStamp slot_stamp(const std::string& recipe, const std::vector<TreeEntry>& entries);

}  // namespace ditar
