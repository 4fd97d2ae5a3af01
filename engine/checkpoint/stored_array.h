#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/base/shape.h"

namespace shardscope {

// What files of others say of arrays, which may be anything.

// Parses a text. Throws std::invalid_argument where an object has a key twice, nlohmann::json::exception where it is no
// JSON.
nlohmann::json parse_without_repeats(const std::string& text);
// An integer that fits. Throws std::invalid_argument. `Json`: nlohmann::json or ordered_json.
template <class Json>
int64_t stored_number(const Json& json);
// Sizes from 0 on. Throws std::invalid_argument, also for more dimensions than an array may have.
template <class Json>
Shape stored_shape(const Json& json);
// Nothing where a size is negative, or the product of all sizes but zeros does not fit.
std::optional<int64_t> stored_bytes(const TensorType& type);

}  // namespace shardscope
