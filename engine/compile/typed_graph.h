#pragma once

#include <vector>

#include "engine/compile/precision.h"
#include "engine/graph/graph.h"

namespace shardscope {

// A step's graph, forward and backward, and the cotangents of its values (see differentiate()).
struct DifferentiatedGraph {
  Graph graph;
  std::vector<ValueId> cotangents;
};

// The same step with parameters stored, and gradients made, in these types; models and differentiation know parameters
// and gradients of f32 alone.
//
// Parameters: a cast to the stored type is left out, and what is computed of them in f32 takes them through a cast.
// Ops that only move elements (a table's rows, parts of a matrix) do so in the stored type.
// Gradients: products give those of parameters in `reduction` (f32 without rounding, or as their operands are), where
// partial sums over devices are added up; they are in `gradients` behind. Sums of several uses are taken in that type.
//
// Example, of a kernel in bf16_mixed: bf16 kernel -> einsum; backward einsum of bf16 operands -> f32 gradient. In bf16:
// backward einsum -> bf16 gradient. With f32 parameters and bf16 products: f32 kernel -> cast -> einsum; backward
// einsum -> bf16 -> cast -> f32 gradient.
DifferentiatedGraph with_types(const DifferentiatedGraph& step, const TrainingTypes& types);

}  // namespace shardscope
