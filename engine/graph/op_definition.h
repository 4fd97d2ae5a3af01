#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Builds the cotangents of an op's inputs while autodiff walks the graph backwards.
struct GradientContext {
  // Said of an operand through which no gradient is meant to go, though it is of a floating-point type.
  static constexpr ValueId none = -2;

  Graph& graph;
  OpId op;                                  // the forward op
  std::vector<ValueId> result_cotangents;   // no_id where a result does not reach the loss
  std::vector<ValueId> operand_cotangents;  // to be filled, or `none`; integers need nothing
  std::vector<bool> trained;                // operands through which parameters are reached; the others need nothing

  // Appends a backward op of this forward op, named "<forward op>/grad/<leaf>"; the leaf is the definition's name
  // where it is not given.
  OpId append(const OpDefinition& definition, std::vector<ValueId> inputs, Attributes attributes = {},
              std::string_view leaf = {});
  ValueId append_value(const OpDefinition& definition, std::vector<ValueId> inputs, Attributes attributes = {},
                       std::string_view leaf = {});
};

// batch products of an m x k by a k x n matrix; `transposed_left`: the left operand is stored k x m.
struct ProductWork {
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;
  bool transposed_left = false;
};

// Pairs of a query and a key that attention weighs, the share of them that its mask hides whatever the data are, and
// the kernel whose rate a machine gives (Device::kernels).
struct ScoreWork {
  double scores = 0;
  double masked = 0;
  std::string_view kernel;
};

// One kind of op: its shape rule, factors, gradient and costs. Stateless; one instance, in the registry.
class OpDefinition {
 public:
  virtual ~OpDefinition() = default;
  virtual std::string_view name() const = 0;
  // The kind of work that it is, by which times of ops are summed up: "norms". By default it is one of its own.
  virtual std::string_view work_kind() const { return name(); }
  // Types of the results, and the factors; throws Failure when the operands do not fit in number, shape or dtype.
  virtual OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const = 0;
  // Fills the operands' cotangents. By default the op has no gradient: autodiff throws where one is needed.
  virtual void gradient(GradientContext&) const {}
  // True where no gradient is meant to go to any operand (a metric, say).
  virtual bool stops_gradient() const { return false; }
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
  // True where the result adds up over the microbatches of a step, and so outlives each.
  virtual bool accumulates() const { return false; }
  // False where the kernel reads and writes nothing, so that it costs no more than its start.
  virtual bool touches_memory() const { return true; }
  // True where each result has elements of the one operand as they are, so that a view of it would do.
  virtual bool is_view() const { return false; }
  // Of results (q, p, c, ...) of which each (q, p) has rows of no use behind the first ones: the operand that says how
  // many those are, i32 (q, p, n), summed over n; else -1. An all-to-all between q and p moves no others.
  virtual int counts_operand() const { return -1; }
  // The share of such rows that is expected to hold something, for operands of these (global) types.
  virtual double counted_share(const Attributes&, std::span<const TensorType> /*operands*/) const { return 1; }
  // Of an op that can give f32 whatever type its operands have: attributes with which it does; else none.
  virtual Attributes with_f32_result(const Attributes&) const { return {}; }
  // Of an op with a factor that goes round a ring: the indices of its result that are not zeros, ascending; all where
  // none is named. Nothing is sent for the others.
  virtual std::vector<int64_t> ring_receivers(const Attributes&) const { return {}; }
  // Matrix products are priced at the rate of products, the rest by the bytes they touch.
  virtual bool is_matrix_product() const { return false; }
  // The products that its work consists of, for operands and results of these (local) shapes; none, of other ops.
  virtual std::vector<ProductWork> products(const Attributes&, std::span<const TensorType> /*operands*/,
                                            std::span<const TensorType> /*results*/) const {
    return {};
  }
  // Of attention and its gradient, for operands of these (local) shapes; none, of other ops.
  virtual ScoreWork scores(const Attributes&, std::span<const TensorType> /*operands*/) const { return {}; }
};

}  // namespace shardscope
