#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope {

// The words of an entry of a list of layers.
using Words = std::vector<std::string>;
Words words_of(const std::string& text);

inline constexpr int64_t most_numbers = 10'000'000;  // in an example, before or behind a layer

// What a word says; nothing where it says no such thing. A number from 1 to most_numbers:
std::optional<int64_t> size_of(const std::string& text);
// "28x28x1", of `rank` such numbers.
std::optional<Shape> shape_of(const std::string& text, size_t rank);
std::optional<double> real_of(const std::string& text, double low, double high);
// Indices of `size` elements as Python writes them: "4:12", ":12", "4:"; at least one.
struct IndexRange {
  int64_t first = 0, end = 0;
};
std::optional<IndexRange> range_of(const std::string& text, int64_t size);

// Throws Failure of a fault in an entry, code "layer".
[[noreturn]] void fail_layer(std::string message, std::string hint);

}  // namespace shardscope
