#include "models/initialisers.h"

#include <cmath>
#include <functional>
#include <numeric>

namespace shardscope {

namespace {

using Kind = InitialiseAttributes::Kind;

// `scale` / fan_in is the variance after the tails beyond two deviations were cut off.
InitialiseAttributes truncated_normal(float scale, int64_t fan_in, Shape shape) {
  const float variance = scale / static_cast<float>(fan_in);
  return {Kind::truncated_normal, std::sqrt(variance) / 0.87962566103423978f, {}, {std::move(shape), DType::f32}};
}

}  // namespace

int64_t fan_in(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end() - 1, int64_t{1}, std::multiplies<>());
}

InitialiseAttributes constant_initialiser(double value, Shape shape) {
  return {Kind::constant, value, {}, {std::move(shape), DType::f32}};
}

InitialiseAttributes normal_initialiser(double stddev, Shape shape) {
  return {Kind::normal, stddev, {}, {std::move(shape), DType::f32}};
}

InitialiseAttributes lecun_normal(int64_t fan_in, Shape shape) { return truncated_normal(1, fan_in, std::move(shape)); }

InitialiseAttributes he_normal(int64_t fan_in, Shape shape) { return truncated_normal(2, fan_in, std::move(shape)); }

InitialiseAttributes xavier_uniform(int64_t fan_in, int64_t fan_out, Shape shape) {
  const float variance = 2.0f / static_cast<float>(fan_in + fan_out);
  return {Kind::uniform, std::sqrt(3 * variance), {}, {std::move(shape), DType::f32}};
}

}  // namespace shardscope
