// Resampling whole items with a counter-based generator, so that the same seed gives the same draws
// on any machine. Internal to quality/. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ditar {

/// 64 bits of (seed, counter): two rounds of the SplitMix64 finaliser over both words.
std::uint64_t counter_bits(std::uint64_t seed, std::uint64_t counter) noexcept;

/// Row indices of resample `draw`: `count` draws with replacement from 0 .. count-1.
std::vector<std::size_t> resample_rows(std::size_t count, std::uint64_t seed, std::uint64_t draw);

/// Means of `resamples` bootstrap samples of `values`, ascending.
std::vector<double> bootstrap_means(std::span<const double> values, int resamples,
                                    std::uint64_t seed);

/// Quantile of ascending values: the order statistic on the safe side of p (floor below one half,
/// ceiling above). @throws InvalidArgument if empty.
double sorted_quantile(std::span<const double> ascending, double p);

}  // namespace ditar
