#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"
#include "engine/base/shape.h"
#include "engine/ops/conv.h"
#include "engine/ops/rotary.h"
#include "engine/ops/split.h"
#include "engine/ops/top_k.h"

namespace shardscope {

// What a layer takes or gives.
struct ListedValue {
  enum class Kind : uint8_t {
    array,
    choices,  // of experts, and what each counts: of an array of their scores
    rows      // of an array, at the experts that they chose
  };

  Kind kind = Kind::array;
  Shape shape;     // of an example, without the batch: of the array
  int maker = -1;  // the layer that chose, or that sent the rows
  bool operator==(const ListedValue&) const = default;
};

// One entry of a list of layers as a run file writes it:
//
//   "linear 512"         nnx.Linear over the last dimension
//   "conv 16 3x3"        nnx.Conv: 16 features, a window of 3 x 3 (height, width); then, where they are not as here,
//                        "stride 1x1" ("stride 2": both) and "same", which pads with zeros, or "valid", which does not
//   "relu", "silu", "gelu" (its tanh form), "gelu_exact"
//   "soft_cap 30"        30 tanh(x / 30) (ops/soft_cap.h)
//   "gated_silu"         silu of the first half of the last dimension, times the second half
//   "flatten"            a picture (height, width, channels) or a sequence (length, features) as a row
//   "add a", "multiply a"  with what the layer called a gives, element by element
//   "concatenate a b"    along the last dimension: up to four arrays, itself the first
//   "slice 0:64"         elements of the last dimension, as Python counts them
//   "rotary"             turned by their positions (ops/rotary.h): a sequence (length, features), or (length, heads,
//                        size); "heads 4" cuts the features into heads, "base 500000" is not 10000
//   "top_k 2"            choices of experts: the last dimension are their scores; then "sigmoid" (softmax where it
//                        is not there), "normalised" and "scale 2.5" (ops/top_k.h)
//   "dispatch r"         rows: sent to the experts that the top_k called r chose; "capacity 1.25" is a bound
//                        (ops/dispatch.h)
//   "expert_linear 512"  rows, each multiplied by the kernel of its expert
//   "combine"            the rows back where they are from: of each token the sum by the weights of its choices
//
// A layer takes what the one before it gives, the first one the example. "h = linear 512" calls what it gives h, and
// "silu from h" takes that; the example is "input".
struct ListedLayer {
  enum class Kind : uint8_t {
    linear,
    conv,
    elementwise,
    soft_cap,
    gated_silu,
    flatten,
    add,
    multiply,
    concatenate,
    slice,
    rotary,
    top_k,
    dispatch,
    expert_linear,
    combine
  };

  Kind kind = Kind::elementwise;
  std::string name;         // of what it gives; or empty
  std::vector<int> inputs;  // layers whose results it takes; -1: the example
  ListedValue before, after;
  std::string op;           // of elementwise
  double cap = 1;           // of soft_cap
  int64_t features = 0;     // of those with kernels: the last dimension of what they give
  ConvAttributes conv;      // of conv
  SplitAttributes parts;    // of concatenate and slice, whose dimension is left open
  int kept = 0;             // of slice: the part that it gives
  RotaryAttributes rotary;  // of rotary
  int64_t heads = 1;        // likewise, where it has a sequence of features
  TopKAttributes choice;    // of top_k
  int64_t experts = 0;      // of dispatch, that its choices are of
  double capacity = 0;      // likewise; 0: as many rows as may come
  // The layer that it is part of. Those with parameters are counted, from 0; what stands between two of them is part of
  // the first.
  int number = 0;

  bool has_parameters() const { return kind == Kind::linear || kind == Kind::conv || kind == Kind::expert_linear; }
};

// The entries of `layers`, of an example of shape `input`: "784", "16x64" (length, features) or "28x28x1" (height,
// width, channels). Every fault is appended to `errors`, at "model.layers[2]", "model.layers" or "model.input"; what is
// behind the first faulty entry is not judged. A fault, too: a layer whose result nobody takes.
std::vector<ListedLayer> read_layers(const std::string& input, const TextList& layers, std::vector<Error>& errors);

}  // namespace shardscope
