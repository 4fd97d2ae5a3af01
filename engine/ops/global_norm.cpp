#include "engine/ops/global_norm.h"

#include <fmt/format.h>

#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const ClipAttributes& attributes) { return fmt::format("max_norm={}", attributes.max_norm); }

namespace {

// x -> sum of x^2; a partial sum where anything is split.
class SumOfSquares : public LabelledOp {
 public:
  std::string_view name() const override { return "sum_of_squares"; }
  std::string_view work_kind() const override { return "optimizers"; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    Labels labels = elementwise(operands, 1, 1);
    labels.results[0].clear();
    return labels;
  }
  double flops_per_element() const override { return 2; }
};

const SumOfSquares sum_of_squares;

// The sums of squares of any number of arrays -> the root of their sum: optax.global_norm of the arrays.
class GlobalNorm : public LabelledOp {
 public:
  std::string_view name() const override { return "global_norm"; }
  std::string_view work_kind() const override { return "optimizers"; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return {std::vector<std::string>(operands.size()), {""}, "", false};
  }
  double flops_per_element() const override { return 1; }
};

const GlobalNorm global_norm;

// (x, norm) -> x where norm < max_norm, else x / norm x max_norm: optax.clip_by_global_norm, norm being that of all
// arrays together.
class ClipByGlobalNorm : public LabelledOp {
 public:
  std::string_view name() const override { return "clip_by_global_norm"; }
  std::string_view work_kind() const override { return "optimizers"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<ClipAttributes>();
    Labels labels = elementwise(operands, 1, 1);
    labels.operands.push_back("");
    return labels;
  }
  double flops_per_element() const override { return 2; }
};

const ClipByGlobalNorm clip_by_global_norm;

}  // namespace

std::vector<const OpDefinition*> global_norm_ops() { return {&sum_of_squares, &global_norm, &clip_by_global_norm}; }

}  // namespace shardscope
