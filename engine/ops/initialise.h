#pragma once

#include <cstdint>
#include <string>

#include "engine/base/random.h"
#include "engine/base/shape.h"

namespace shardscope {

// Attributes of op initialise, which makes a state's first value: an array of `type` whose elements are functions of
// the key and of their row-major index in the whole array, as jax.nn.initializers; drawn in f32, and rounded where the
// type is narrower. Truncated normals are cut at +-2
// and uniforms drawn from [-1, 1) before they are multiplied by `scale`. Sinusoidal is the table (length, features) of
// A. Vaswani et al., 2017: sines in even columns 2i of row p, cosines in odd ones, of the angle p x scale^(-2i /
// features), taken in f32.
//
// Example: lecun_normal of fan-in n is truncated_normal with scale sqrt(1 / n) / 0.87962566103423978.
struct InitialiseAttributes {
  enum class Kind : uint8_t { constant, normal, truncated_normal, uniform, sinusoidal } kind = Kind::constant;
  double scale = 0;  // of kind constant: the value
  Key key;
  TensorType type;
  bool operator==(const InitialiseAttributes&) const = default;
};
std::string to_string(const InitialiseAttributes& attributes);
uint64_t hash_of(const InitialiseAttributes& attributes);

}  // namespace shardscope
