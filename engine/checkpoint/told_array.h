#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/base/shape.h"

namespace shardscope {

// What files of others say of arrays, which may be anything.

// An integer that fits. Throws std::invalid_argument.
int64_t told_number(const nlohmann::ordered_json& json);
// Sizes from 0 on. Throws std::invalid_argument, also for more dimensions than an array may have.
Shape told_shape(const nlohmann::ordered_json& json);
// Nothing where a size is negative, or the product of all sizes but zeros does not fit.
std::optional<int64_t> told_bytes(const TensorType& type);

}  // namespace shardscope
