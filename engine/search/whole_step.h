#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "engine/compile/training_graph.h"
#include "engine/graph/repeated_layers.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// A machine that is faster at all local work: no latency, products at the peak rate of the best kernel, memory levels
// that hold `parts` times as much. So of work that is shared out in at most so many equal parts, to devices or to
// microbatches, all take together on the real machine at least what one device of this one takes for the whole: each
// byte of a part takes what a byte of work takes that is as large as the part (MemoryTime).
Machine ideal_machine(Machine machine, double parts);

// Rows that an expert has of an op's tokens; nothing of other ops.
std::optional<double> rows_of_expert(const Op& op, std::span<const TensorType> operands);
// They are whole: of r rows at least this share counts, of more no less.
inline double share_of_whole_rows(double rows) { return rows >= 2 ? 1 - 1 / rows : 0.5; }

// What a training step takes on one device that has the whole batch, in seconds.
struct WholeStepWork {
  double products = 0, of_experts = 0, of_attention = 0;  // matrix products: without those of experts and attention
  double streamed = 0;                                    // all else that is not of experts
  double rows_of_expert = std::numeric_limits<double>::infinity();  // fewest of an op, of the whole batch
};

// `layers`: of the shortened network that `training` is of; of equal layers between the first and the last each op
// counts as in the one of the two where it takes less. By the prices of an ideal machine. What does not always run, or
// not by itself, is left out: what goes round a ring, casts that backward may keep, ops on rows of experts. Another
// stack has kernels of its own for attention, of which nothing counts, and joins what it does to gradients and states
// to other chains.
WholeStepWork step_seconds(const TrainingGraph& training, const std::vector<EqualLayers>& layers,
                           const WorkPrices& prices);

}  // namespace shardscope
