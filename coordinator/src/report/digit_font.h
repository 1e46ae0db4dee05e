// A 3x5 bitmap font for the digits, enough to label a grid of samples. Constant data.
#pragma once

#include <array>
#include <cstdint>

namespace ditar {

inline constexpr int kGlyphWidth = 3;
inline constexpr int kGlyphHeight = 5;

/// One byte per row, bit 2 is the leftmost column.
inline constexpr std::array<std::array<std::uint8_t, kGlyphHeight>, 10> kDigitGlyphs = {{
    {0b111, 0b101, 0b101, 0b101, 0b111},
    {0b010, 0b110, 0b010, 0b010, 0b111},
    {0b111, 0b001, 0b111, 0b100, 0b111},
    {0b111, 0b001, 0b111, 0b001, 0b111},
    {0b101, 0b101, 0b111, 0b001, 0b001},
    {0b111, 0b100, 0b111, 0b001, 0b111},
    {0b111, 0b100, 0b111, 0b101, 0b111},
    {0b111, 0b001, 0b010, 0b010, 0b010},
    {0b111, 0b101, 0b111, 0b101, 0b111},
    {0b111, 0b101, 0b111, 0b001, 0b111},
}};

}  // namespace ditar
