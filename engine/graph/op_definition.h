#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// The dimensions of an op as factors, after Shardy (openxla/shardy, "sharding representation"). Each dimension of
// each operand and result maps to one factor. Splitting a factor over devices means: operands and results that
// have it are split along that dimension; operands that lack it are whole on each device; results that lack it are
// partial sums.
//
// Example: einsum "ik,kj->ij" has factors i, k, j; splitting i or j needs no communication, splitting k leaves the
// result partial.
struct Factor {
  char label = '?';  // distinct within the op; shared by an op and its gradient
  int64_t size = 1;
  bool splittable = true;  // false: each device needs the whole dimension
};

struct FactorRule {
  static constexpr int max_factors = 10;

  std::vector<Factor> factors;
  std::vector<std::vector<int>> operands;  // per operand, per dimension: index into factors
  std::vector<std::vector<int>> results;
  bool linear = false;  // jointly linear: partial sums of all operands give a partial sum of every result
};

// Rule from labels: one string per operand and result, one character per dimension, e.g. {"bse","e"} -> {"bse"}.
// Labels in `whole` are not splittable. Throws Failure where the labels do not fit the shapes, a label occurs twice in
// one array, or there are too many.
FactorRule make_rule(const std::vector<std::string>& operands, const std::vector<std::string>& results,
                     std::span<const TensorType> operand_types, std::span<const TensorType> result_types,
                     std::string_view whole = "", bool linear = false);

// Builds the cotangents of an op's inputs while autodiff walks the graph backwards.
class OpDefinition;
struct GradientContext {
  Graph& graph;
  OpId op;                                  // the forward op
  std::vector<ValueId> result_cotangents;   // no_id where a result does not reach the loss
  std::vector<ValueId> operand_cotangents;  // to be filled; stays no_id for operands without gradient

  // Appends a backward op of this forward op, named "<forward op>/grad/<leaf>"; the leaf is the definition's name
  // where it is not given.
  OpId append(const OpDefinition& definition, std::vector<ValueId> inputs, Attributes attributes = {},
              std::string_view leaf = {});
  ValueId append_value(const OpDefinition& definition, std::vector<ValueId> inputs, Attributes attributes = {},
                       std::string_view leaf = {});
};

// One kind of op: its shape rule, factors, gradient and costs. Stateless; one instance, in the registry.
class OpDefinition {
 public:
  virtual ~OpDefinition() = default;
  virtual std::string_view name() const = 0;
  // Types of the results; throws Failure when the operands do not fit.
  virtual std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> operands) const = 0;
  virtual FactorRule factors(const Attributes& attributes, std::span<const TensorType> operands,
                             std::span<const TensorType> results) const = 0;
  virtual void gradient(GradientContext& context) const;  // default: no operand has a gradient
  // Floating-point operations for operands and results of these (local) shapes.
  virtual double flops(const Attributes& attributes, std::span<const TensorType> operands,
                       std::span<const TensorType> results) const = 0;
  // Upper bound of the scratch memory a kernel may use, in bytes, on `threads` threads.
  virtual int64_t workspace_bytes(const Attributes&, std::span<const TensorType>, std::span<const TensorType>,
                                  int /*threads*/) const {
    return 0;
  }
  // The operand whose buffer result `result` may overwrite when this is the operand's last use, or -1.
  virtual int in_place_operand(int /*result*/) const { return -1; }
  // True where the result must overwrite that operand (parameter updates).
  virtual bool must_be_in_place() const { return false; }
  // Matrix products are costed at the matrix rate, the rest by the bytes they touch.
  virtual bool is_matrix_product() const { return false; }
};

}  // namespace shardscope
