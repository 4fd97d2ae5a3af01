#pragma once

#include <span>

#include "engine/machine/machine.h"

namespace shardscope {

// The share of the peak that batch products of an m x k by a k x n matrix reach by the best of some kernels. Tiles of
// all products are spread over the device's units in waves, of which the last may be partly empty; where a wave is not
// filled k may be split among units, which costs one more `depth`:
//
//   tiles = ceil(m / tile m) ceil(n / tile n) batch, waves = ceil(tiles s / units), s splits of k
//   share = efficiency  (m n batch) / (tile m tile n units)  k / (waves (k / s + depth))
//
// At most `efficiency` of the best kernel; 1 where there are no kernels.
//
// Example: 128 units, one kernel of 128 x 128, depth 64, efficiency 0.8. m = n = 1024, k = 1024: 64 tiles, s = 2: one
// wave, 0.8 x 64 / 128 x 1024 / (512 + 64) = 0.71; unsplit it were 0.8 x 0.5 x 1024 / 1088 = 0.38.
double tiled_share(std::span<const ProductTile> tiles, int units, double m, double n, double k, double batch);

}  // namespace shardscope
