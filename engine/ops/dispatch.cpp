#include "engine/ops/dispatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/ops/stated_op.h"

namespace shardscope {

std::string to_string(const DispatchAttributes& a) {
  return fmt::format("experts={} in {}, tokens in {} x {}, rows={}{}", a.experts, a.expert_blocks, a.batch_blocks,
                     a.length_blocks, a.rows, a.summed ? ", summed" : "");
}

double DispatchAttributes::filled(const Shape& choices) const {
  const int64_t chosen = choices[0] * choices[1] / batch_blocks / length_blocks * choices[2];
  return std::min(1.0, static_cast<double>(chosen) / static_cast<double>(expert_blocks * rows));
}

namespace {

const DispatchAttributes& checked(const Attributes& attributes) {
  const auto& a = attributes.as<DispatchAttributes>();
  const bool positive = a.expert_blocks > 0 && a.batch_blocks > 0 && a.length_blocks > 0 && a.rows > 0;
  if (positive && a.experts > 0 && a.experts % a.expert_blocks == 0) return a;
  throw Failure(Error{"attributes", to_string(a), "", "blocks of equal size, of at least one row"});
}

std::vector<std::pair<char, int64_t>> sizes_of(const DispatchAttributes& a) {
  return {
      {'g', a.batch_blocks}, {'h', a.length_blocks}, {'p', a.expert_blocks}, {'n', a.block_experts()}, {'c', a.rows}};
}

Labels counts_labels(const Attributes& attributes, std::span<const TensorType>) {
  return {{"(gb)(hs)k"}, {"(hg)pn", ""}, "bskpn", false, {}, sizes_of(checked(attributes))};
}

const StatedOp expert_counts({.name = "expert_counts",
                              .work_kind = "reductions",
                              .flops = 4,
                              .types = "i->if",
                              .labels = counts_labels,
                              .stops_gradient = true});

Labels dispatch_labels(const Attributes& attributes, std::span<const TensorType> operands) {
  const bool slotted = !operands.empty() && operands[0].shape.size() == 4;
  const char* rows = slotted ? "(gb)(hs)kd" : "(gb)(hs)d";
  return {{rows, "(gb)(hs)k", "(hg)pn"}, {"(hg)pcd"}, "bskpnc", false, {}, sizes_of(checked(attributes))};
}

Labels combine_labels(const Attributes& attributes, std::span<const TensorType>) {
  const DispatchAttributes& a = checked(attributes);
  return {
      {"(hg)pcd", "(gb)(hs)k", "(hg)pn"}, {a.summed ? "(gb)(hs)d" : "(gb)(hs)kd"}, "bskpnc", false, {}, sizes_of(a)};
}

// Each row's cotangent goes back to where the row is from.
void dispatch_gradient(GradientContext& context);
void combine_gradient(GradientContext& context);

const StatedOp dispatch({.name = "dispatch",
                         .work_kind = "reductions",
                         .flops = 1,
                         .types = "xi->0",
                         .labels = dispatch_labels,
                         .gradient = dispatch_gradient,
                         .counts_operand = 2,
                         .counted_share = [](const Attributes& attributes, std::span<const TensorType> operands) {
                           return attributes.as<DispatchAttributes>().filled(operands[1].shape);
                         }});
const StatedOp combine({.name = "combine",
                        .work_kind = "reductions",
                        .flops = 1,
                        .types = "xi->0",
                        .labels = combine_labels,
                        .gradient = combine_gradient});

void dispatch_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  auto back = op.attributes.as<DispatchAttributes>();
  back.summed = context.graph.type(op.inputs[0]).shape.size() == 3;
  context.operand_cotangents[0] =
      context.append_value(combine, {context.result_cotangents[0], op.inputs[1], op.inputs[2]}, back);
}

void combine_gradient(GradientContext& context) {
  const Op op = context.graph.ops[context.op];
  auto there = op.attributes.as<DispatchAttributes>();
  there.summed = false;
  context.operand_cotangents[0] =
      context.append_value(dispatch, {context.result_cotangents[0], op.inputs[1], op.inputs[2]}, there);
}

}  // namespace

std::vector<const OpDefinition*> dispatch_ops() { return {&expert_counts, &dispatch, &combine}; }

}  // namespace shardscope
