// JSON texts inside frames: each message value to text and back. Reading is strict: a missing,
// unknown or duplicate key, a wrong type or a number out of range throws FrameError (kMeta) that
// names the key. No JSON library shows here. Stateless; thread-safe.
#pragma once

#include "ditar/config/messages.h"

#include <string>
#include <string_view>
#include <vector>

namespace ditar {

std::string encode_meta(const GroupHello& value);
std::string encode_meta(const LoadRequest& value);
/// The latents travel as bulk, not in the text.
std::string encode_meta(const RunRequest& value);
std::string encode_meta(const ProgressReport& value);
std::string encode_meta(const FailureReport& value);
std::string encode_meta(const RankReport& value);
std::string encode_meta(const RankHello& value);

/// LoadReply with every rank's report.
struct LoadedMeta {
  LoadReply model;
  std::vector<RankReport> ranks;
};
std::string encode_meta(const LoadedMeta& value);

/// RunReply without its bulk.
struct ResultMeta {
  std::uint64_t nonce = 0;
  std::vector<RankReport> ranks;
};
std::string encode_meta(const ResultMeta& value);

/// Reads a text as T, one of the types above. @throws FrameError.
template <typename T>
T decode_meta(std::string_view text);
template <>
GroupHello decode_meta<GroupHello>(std::string_view text);
template <>
LoadRequest decode_meta<LoadRequest>(std::string_view text);
template <>
RunRequest decode_meta<RunRequest>(std::string_view text);
template <>
ProgressReport decode_meta<ProgressReport>(std::string_view text);
template <>
FailureReport decode_meta<FailureReport>(std::string_view text);
template <>
RankReport decode_meta<RankReport>(std::string_view text);
template <>
RankHello decode_meta<RankHello>(std::string_view text);
template <>
LoadedMeta decode_meta<LoadedMeta>(std::string_view text);
template <>
ResultMeta decode_meta<ResultMeta>(std::string_view text);

/// @throws InvalidArgument naming the numbers if images, shape, labels and latents of a request do
/// not fit each other.
void check_request(const RunRequest& request);

}  // namespace ditar
