#pragma once

#include <memory>

#include "engine/worker/data_source.h"

namespace shardscope {

// Tokens of a (batch, sequence) array, below `vocabulary`.
std::unique_ptr<DataSource> make_synthetic_lm(int64_t seed, const Shape& batch, int64_t vocabulary);

}  // namespace shardscope
