#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of op expert_load: choices i32 (b, s, k) -> f32 (experts), how many of the choices are each expert's.
// Exact up to 2^24 of one expert.
struct ExpertLoadAttributes {
  int64_t experts = 1;
  bool operator==(const ExpertLoadAttributes&) const = default;
};
std::string to_string(const ExpertLoadAttributes& attributes);

}  // namespace shardscope
