#include "engine/ops/global_norm.h"

#include <fmt/format.h>

#include "engine/ops/stated_op.h"

namespace shardscope {

std::string to_string(const ClipAttributes& attributes) { return fmt::format("max_norm={}", attributes.max_norm); }

namespace {

// x -> sum of x^2; a partial sum where anything is split.
const StatedOp sum_of_squares({.name = "sum_of_squares", .work_kind = "optimizers", .equation = "A->", .flops = 2});

Labels scalars(const Attributes&, std::span<const TensorType> operands) {
  return {std::vector<std::string>(operands.size()), {""}, "", false};
}

// The sums of squares of any number of arrays -> the root of their sum: optax.global_norm of the arrays.
const StatedOp global_norm({.name = "global_norm", .work_kind = "optimizers", .flops = 1, .labels = scalars});

// (x, norm) -> x where norm < max_norm, else x / norm x max_norm: optax.clip_by_global_norm, norm being that of all
// arrays together.
const StatedOp clip_by_global_norm({.name = "clip_by_global_norm",
                                    .work_kind = "optimizers",
                                    .equation = "A,->A",
                                    .flops = 2,
                                    .in_place = {0},
                                    .require = require_attributes<ClipAttributes>});

}  // namespace

std::vector<const OpDefinition*> global_norm_ops() { return {&sum_of_squares, &global_norm, &clip_by_global_norm}; }

}  // namespace shardscope
