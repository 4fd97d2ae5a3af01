#include "engine/ops/top_k.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/stated_op.h"

namespace shardscope {

std::string to_string(const TopKAttributes& a) {
  return fmt::format("k={} of {}{}, scale={}, groups={}/{}", a.k,
                     a.score == TopKAttributes::Score::softmax ? "softmax" : "sigmoid",
                     a.normalise ? ", normalised" : "", a.scale, a.chosen_groups, a.groups);
}

namespace {

void check(const TopKAttributes& a, std::span<const TensorType> operands) {
  const int64_t choices = operands.empty() || operands[0].shape.size() != 3 ? 0 : operands[0].shape[2];
  const bool grouped = a.groups >= 1 && choices % a.groups == 0 && a.chosen_groups >= 1 && a.chosen_groups <= a.groups;
  if (grouped && a.k >= 1 && a.k <= choices / a.groups * a.chosen_groups && a.k <= 256) return;
  throw Failure(Error{"attributes", fmt::format("{} of {} choices", to_string(a), choices), "",
                      "as many as there are, in groups of equal size"});
}

Labels grad_labels(const Attributes& attributes, std::span<const TensorType> operands) {
  check(attributes.as<TopKAttributes>(), operands);
  return {{"bse", "bsk", "bsk"}, {"bse"}, "ek", false};
}

// (logits, choices, d weights) -> d logits.
const StatedOp top_k_grad(
    {.name = "top_k_grad", .work_kind = "reductions", .flops = 15, .types = "fif->f", .labels = grad_labels});

Labels top_k_labels(const Attributes& attributes, std::span<const TensorType> operands) {
  const TopKAttributes& a = attributes.as<TopKAttributes>();
  check(a, operands);
  Labels labels{{"bse"}, {"bsk", "bsk"}, "ek", false, {}, {{'k', a.k}}};
  if (operands.size() == 2) labels.operands.push_back("e");
  return labels;
}

void top_k_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  if (context.result_cotangents[1] != no_id) {
    context.operand_cotangents[0] =
        context.append_value(top_k_grad, {op.inputs[0], op.outputs[0], context.result_cotangents[1]}, op.attributes);
  }
  if (op.inputs.size() > 1) context.operand_cotangents[1] = GradientContext::none;
}

// (logits f32 (b, s, e) [, bias (e)]) -> (choices i32 (b, s, k), weights (b, s, k)). No gradient goes to a bias.
const StatedOp top_k({.name = "top_k",
                      .work_kind = "reductions",
                      .flops = 20,
                      .types = "f->if",
                      .labels = top_k_labels,
                      .gradient = top_k_gradient});

}  // namespace

std::vector<const OpDefinition*> top_k_ops() { return {&top_k, &top_k_grad}; }

}  // namespace shardscope
