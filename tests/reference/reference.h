#pragma once

#include <Eigen/Core>
#include <span>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"

// Every op in double precision, by its definition and in the plainest way, on whole arrays: what kernels and gradients
// are checked against. Shares the shape rules and the random numbers with the engine, but no kernel.
namespace shardscope::reference {

// Elements in row-major order. Those of type f32 are not rounded, those of type bf16 are, those of type i32 are whole.
using Values = Eigen::ArrayXd;

struct Array {
  TensorType type;
  Values values;
};

// The results of one op. Throws Failure (code no_reference) for an op that has no reference; what the op's shape rule
// throws; and (code shape) where the reference makes other shapes than that rule says.
std::vector<Array> evaluate(std::string_view op, const Attributes& attributes, std::span<const Array> operands,
                            int64_t step = 0);

bool has_reference(std::string_view op);

// The forward, backward and update ops of a graph, one after the other. States and inputs are the caller's to fill.
class WholeGraph {
 public:
  explicit WholeGraph(const Graph& graph);
  Array& array(ValueId value) { return arrays_[static_cast<size_t>(value)]; }
  void run();

 private:
  const Graph& graph_;
  std::vector<Array> arrays_;
};

}  // namespace shardscope::reference
