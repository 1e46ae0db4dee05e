// The work that a lane asks of an engine, and the requests made from it: fresh inputs from a seed,
// the same on any machine. Values and pure functions; thread-safe.
#pragma once

#include "ditar/config/messages.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ditar {

/// One lane's unit of work.
struct Task {
  std::int64_t images = 1, channels = 1, height = 1, width = 1;
  int classes = 10;  ///< labels are 0 .. classes-1
  ScheduleSpec schedule;
};

/// One request's inputs: where its noise and labels come from.
struct RequestSeed {
  std::uint64_t noise = 0;        ///< Philox key of the initial latents
  std::uint64_t first_image = 0;  ///< Philox image index of the first image
};

/// Timesteps of a run of `steps` steps over 1000: round(linspace(0, 999, steps)), descending, as
/// the published respacing of DDPM and DDIM; dpmpp2m follows the published solver's spacing:
/// round(linspace(0, 999, steps + 1)) descending without the last. @throws InvalidArgument unless
/// 1 <= steps <= 1000.
std::vector<std::int32_t> timesteps_for(const std::string& sampler, int steps);

/// alpha-bar of each of the 1000 training steps: linear beta from 1e-4 to 2e-2, in FP64.
std::vector<double> alpha_bar_table();

/// A request with Philox noise and the given labels (one per image).
RunRequest make_request(const Task& task, std::span<const std::int32_t> labels, RequestSeed seed,
                        std::uint64_t nonce);

/// Labels drawn for a timed request, one per image, from the same counter-based generator.
std::vector<std::int32_t> drawn_labels(const Task& task, std::uint64_t seed, std::uint64_t index);

/// 64 random bits for (seed, stream, index): what every recorded coin and draw comes from.
std::uint64_t drawn_bits(std::uint64_t seed, std::uint32_t stream, std::uint64_t index);

/// "0-9", "3,3,7", "0-4,9": class indices in order. @throws InvalidArgument naming the bad part.
std::vector<std::int32_t> parse_labels(const std::string& text, int classes);

}  // namespace ditar
