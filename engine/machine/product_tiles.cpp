#include "engine/machine/product_tiles.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

double tiled_share(std::span<const ProductTile> tiles, int units, double m, double n, double k, double batch) {
  constexpr double splits[] = {1, 2, 4, 8, 16};
  double best = tiles.empty() ? 1 : 0;
  for (const ProductTile& tile : tiles) {
    const auto tile_m = static_cast<double>(tile.m), tile_n = static_cast<double>(tile.n);
    const double count = std::ceil(m / tile_m) * std::ceil(n / tile_n) * batch;
    for (double split : splits) {
      if (split > 1 && (count >= units || split > k)) break;
      const double waves = std::ceil(count * split / units);
      const double steps = waves * (k / split + tile.depth);
      best = std::max(best, tile.efficiency * m * n * batch / (tile_m * tile_n * units) * k / steps);
    }
  }
  return best;
}

}  // namespace shardscope
