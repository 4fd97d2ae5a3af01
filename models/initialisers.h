#pragma once

#include <cstdint>

#include "engine/ops/initialise.h"

namespace shardscope {

// First values of parameters as jax.nn.initializers makes them; the caller sets the key. The fan-in of an array is its
// next-to-last dimension times all before that, as JAX's in_axis = -2; DenseGeneral kernels state their own.
int64_t fan_in(const Shape& shape);

InitialiseAttributes constant_initialiser(double value, Shape shape);
// Normal with this standard deviation.
InitialiseAttributes normal_initialiser(double stddev, Shape shape);
// Truncated normals with variance 1 / fan_in and 2 / fan_in.
InitialiseAttributes lecun_normal(int64_t fan_in, Shape shape);
InitialiseAttributes he_normal(int64_t fan_in, Shape shape);
// Uniform with variance 2 / (fan_in + fan_out).
InitialiseAttributes xavier_uniform(int64_t fan_in, int64_t fan_out, Shape shape);

}  // namespace shardscope
