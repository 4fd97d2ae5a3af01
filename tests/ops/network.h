#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "models/linen.h"

// Small networks (tokens -> embedding -> layer -> projection -> loss), each with an op under test in its layer or loss.
namespace shardscope::test {

// Sizes of x (b, s, e) and of logits (b, s, v).
inline constexpr int64_t batch = 2, sequence = 5, vocabulary = 7, width = 8;

// Appends a layer under test to x.
using Layer = std::function<ValueId(Graph& graph, const Linen&, ValueId x, ValueId tokens)>;
// A loss of logits.
using Loss = std::function<ValueId(Graph& graph, ValueId logits, ValueId labels)>;

ValueId cross_entropy(Graph& graph, ValueId logits, ValueId labels);

struct NamedNetwork {
  const char* name;
  double dropout_rate;
  Layer layer;
  Loss loss = cross_entropy;
};

// The results of an op in forward; the first of them.
std::vector<ValueId> append_op(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes = {});
ValueId append(Graph& graph, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});

// A trainable parameter.
ValueId parameter(Graph& graph, const std::string& name, const Shape& shape);

ValueId square_dense(const Linen& module, ValueId x);
ValueId no_layer(Graph& graph, const Linen&, ValueId x, ValueId tokens);
ValueId dense_layer(Graph& graph, const Linen&, ValueId x, ValueId tokens);
// An op of one operand behind a dense layer.
Layer behind_dense(const char* op, Attributes attributes = {});

// More losses.
ValueId weighted_cross_entropy(Graph& graph, ValueId logits, ValueId labels);
ValueId squared_error(Graph& graph, ValueId logits, ValueId labels);

}  // namespace shardscope::test
