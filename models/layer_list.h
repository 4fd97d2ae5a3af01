#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"
#include "models/layer_kind.h"

namespace shardscope {

// The entries of `layers`, of an example of shape `input`: "784", "16x64" (length, features) or "28x28x1" (height,
// width, channels). An entry is the name of a kind and what that takes: "linear 512", "relu" (models/layer_kind.h).
//
// A layer takes what the one before it gives, the first one the example. "h = linear 512" calls what it gives h, and
// "silu from h" takes that; the example is "input".
//
// Every fault is appended to `errors`, at "model.layers[2]", "model.layers" or "model.input"; what is behind the first
// faulty entry is not judged. A fault, too: a layer whose result nobody takes.
std::vector<ListedLayer> read_layers(const std::string& input, const TextList& layers, std::vector<Error>& errors);

inline constexpr const char* listed_example = "input";

}  // namespace shardscope
