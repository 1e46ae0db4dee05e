// Lint of NCCL's environment: names what NCCL would ignore without a word, what stops it at start,
// and what its configuration files add. Pure functions apart from read_nccl_files; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ditar {

enum class FindingKind : std::uint8_t {
  kIgnored,  ///< NCCL takes it for unset or for something else, silently
  kRefused,  ///< NCCL ends with an error at start
  kHarmful,  ///< works, and is known to cost speed for two ranks
  kNote      ///< recorded, nothing wrong
};
std::string_view to_string(FindingKind kind) noexcept;

struct NcclFinding {
  FindingKind kind = FindingKind::kNote;
  std::string variable, value;
  std::string where;  ///< "environment" or "/etc/nccl.conf:3"
  std::string message;
};

using NcclSettings = std::map<std::string, std::string>;

/// Checks the NCCL_* entries of `settings`; others are passed over.
std::vector<NcclFinding> lint_nccl(const NcclSettings& settings,
                                   const std::string& where = "environment");

/// The NCCL_* variables of a block such as `environ` (null-terminated).
NcclSettings nccl_settings_of(const char* const* environment);

/// Lints the text of an nccl.conf ("NAME=value" lines, '#' comments). Every setting is a finding
/// (kNote if nothing is wrong), so that a record of the environment alone is not taken for the
/// whole configuration.
std::vector<NcclFinding> lint_nccl_conf(std::string_view text, const std::string& file);

/// lint_nccl_conf of those of `files` that exist; one that cannot be read is noted.
std::vector<NcclFinding> read_nccl_files(const std::vector<std::filesystem::path>& files);

/// ~/.nccl.conf (or the file that NCCL_CONF_FILE names) and /etc/nccl.conf.
std::vector<std::filesystem::path> nccl_conf_files();

/// One line per finding: "environment: NCCL_P2P_LEVEL=phb is ignored: ...".
std::string nccl_report(const std::vector<NcclFinding>& findings);

}  // namespace ditar
