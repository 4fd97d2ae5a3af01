#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope::test {

// The functions of tests/parity/transformers_decoders.py.
inline uint32_t hash_at(const std::string& name, uint64_t index) {
  uint32_t seed = 2166136261u;
  for (unsigned char byte : name) seed = (seed ^ byte) * 16777619u;
  uint32_t x = static_cast<uint32_t>(index) * 2654435761u + seed;
  x = (x ^ (x >> 16)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return x ^ (x >> 16);
}

inline std::vector<float> weight_values(const std::string& name, const Shape& shape) {
  const bool of_norm = shape.size() == 1 && name.ends_with("weight");
  std::vector<float> values;
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const double value = (hash_at(name, static_cast<uint64_t>(i)) / 2147483648.0 - 1) * 0.3;
    values.push_back(static_cast<float>(value + (of_norm ? 1 : 0)));
  }
  return values;
}

inline double projected(const std::string& name, int projection, std::span<const float> gradient) {
  double sum = 0;
  const std::string seed = name + "/" + std::to_string(projection);
  for (size_t i = 0; i < gradient.size(); ++i) sum += hash_at(seed, i) >= 2147483648u ? gradient[i] : -gradient[i];
  return sum;
}

inline std::string array_name(const std::string& state) {
  std::string name = state.substr(std::string("params/").size());
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace shardscope::test
