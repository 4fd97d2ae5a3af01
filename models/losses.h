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

}  // namespace shardscope
