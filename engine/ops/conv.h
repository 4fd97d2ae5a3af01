#pragma once

#include <string>

#include "engine/base/shape.h"

namespace shardscope {

enum class ConvPadding : uint8_t { same, valid };

// One dimension of a picture under a convolution, as XLA's padding rules have it: output o covers the inputs
// o * stride - before + [0, window), of which those outside the picture are zeros.
struct ConvDimension {
  int64_t input = 1, window = 1, stride = 1, output = 1, before = 0;
  bool operator==(const ConvDimension&) const = default;
};

// same: output = ceil(input / stride), with zeros on both sides, the odd one behind; valid: no zeros, and so
// output = floor((input - window) / stride) + 1. Throws Failure (code conv) where a size is below 1, or a window does
// not fit (valid).
ConvDimension conv_dimension(int64_t input, int64_t window, int64_t stride, ConvPadding padding);

// Attributes of "conv" and its gradients.
struct ConvAttributes {
  ConvDimension height, width;
  bool operator==(const ConvAttributes&) const = default;
};
std::string to_string(const ConvAttributes& attributes);

// A convolution is a matrix product of patches, the inputs that each output covers; so many outputs at a time that
// their patches of `patch` elements take about a MiB.
int64_t conv_block_rows(int64_t outputs, int64_t patch);

}  // namespace shardscope
