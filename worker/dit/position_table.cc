#include "position_table.h"

#include "ditar/config/error.h"

#include <cmath>
#include <string>

namespace ditar {

std::vector<double> position_table(std::int64_t hidden, std::int64_t grid_h, std::int64_t grid_w) {
  require(hidden > 0 && hidden % 4 == 0, "hidden size " + std::to_string(hidden) +
                                             " is not a multiple of 4, which the position "
                                             "table needs");
  const std::int64_t quarter = hidden / 4;
  std::vector<double> table(static_cast<std::size_t>(grid_h * grid_w * hidden));
  double* out = table.data();
  for (std::int64_t h = 0; h < grid_h; ++h) {
    for (std::int64_t w = 0; w < grid_w; ++w) {
      for (const std::int64_t position : {w, h}) {
        for (std::int64_t i = 0; i < quarter; ++i) {
          const double omega =
              1.0 / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(quarter));
          const double angle = static_cast<double>(position) * omega;
          out[i] = std::sin(angle);
          out[quarter + i] = std::cos(angle);
        }
        out += 2 * quarter;
      }
    }
  }
  return table;
}

}  // namespace ditar
