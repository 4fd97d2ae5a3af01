#pragma once

#include "engine/graph/graph.h"

namespace shardscope {

struct CrossEntropy {
  ValueId loss, accuracy;  // scalars
};

// optax.softmax_cross_entropy_with_integer_labels of logits (..., v) and labels i32 (...), and how often the largest
// logit is the label's; the means over all rows, or with `weights` (...) the sums of weight x value over the number of
// rows. Ops are named "loss/...".
CrossEntropy mean_cross_entropy(Graph& graph, ValueId logits, ValueId labels, ValueId weights = no_id);

// The cross-entropy of predicting tokens[:, 1:] from logits[:, :-1, :] of logits (b, s, v) and tokens i32 (b, s): the
// means over b x (s - 1) positions. s is at least 2.
CrossEntropy mean_next_token_cross_entropy(Graph& graph, ValueId logits, ValueId tokens);

// jnp.mean((x - y) ** 2), a scalar.
ValueId mean_squared_error(Graph& graph, ValueId x, ValueId y);

struct TokenPair {
  ValueId tokens, labels;
};
// Inputs "tokens" and "labels", i32 (batch, length), all below `vocabulary`.
TokenPair add_tokens_and_labels(Graph& graph, int64_t batch, int64_t length, int64_t vocabulary);

// The graph's outputs: "logits", "loss", "accuracy" of a classification; "predictions" and their mean squared error as
// "loss" of a regression.
void set_outputs(Graph& graph, ValueId logits, const CrossEntropy& loss);
void set_regression_outputs(Graph& graph, ValueId predictions, ValueId targets);

}  // namespace shardscope
