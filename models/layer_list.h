#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"
#include "engine/base/shape.h"
#include "engine/ops/conv.h"

namespace shardscope {

// One entry of a list of layers as a run file writes it:
//
//   "linear 512"    nnx.Linear over the last dimension
//   "conv 16 3x3"   nnx.Conv: 16 features, a window of 3 x 3 (height, width); then, where they are not as here,
//                   "stride 1x1" ("stride 2": both) and "same", which pads with zeros, or "valid", which does not
//   "relu", "silu", "gelu" (its tanh form), "gelu_exact"
//   "soft_cap 30"   30 tanh(x / 30) (ops/soft_cap.h)
//   "gated_silu"    silu of the first half of the last dimension, times the second half
//   "flatten"       a picture (height, width, channels) as a row
struct ListedLayer {
  enum class Kind : uint8_t { linear, conv, elementwise, soft_cap, gated_silu, flatten };

  Kind kind = Kind::elementwise;
  std::string op;        // of elementwise
  double cap = 1;        // of soft_cap
  int64_t features = 0;  // of linear and conv: the last dimension of what they give
  ConvAttributes conv;   // of conv
  Shape before, after;   // of an example, without the batch
  // The layer that it is part of. Those with parameters are counted, from 0; what stands between two of them is part of
  // the first.
  int number = 0;
};

// The entries of `layers`, the first applied to an example of shape `input` ("784", "28x28x1"), each other one to what
// the one before it gives. Every fault is appended to `errors`, at "model.layers[2]", "model.layers" or "model.input";
// shapes behind the first fault are not judged.
std::vector<ListedLayer> read_layers(const std::string& input, const TextList& layers, std::vector<Error>& errors);

}  // namespace shardscope
