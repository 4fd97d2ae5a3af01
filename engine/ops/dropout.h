#pragma once

#include <cstdint>
#include <string>

#include "engine/base/random.h"

namespace shardscope {

// Attributes of op dropout, and of attention whose weights are dropped. With rate 0 nothing is dropped.
struct DropoutAttributes {
  double rate = 0;
  StepKey key;
  bool operator==(const DropoutAttributes&) const = default;
};
std::string to_string(const DropoutAttributes& attributes);
uint64_t hash_of(const DropoutAttributes& attributes);

}  // namespace shardscope
