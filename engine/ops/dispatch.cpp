#include "engine/ops/dispatch.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const DispatchAttributes& a) {
  return fmt::format("experts={} in {}, tokens in {} x {}, rows={}{}", a.experts, a.expert_blocks, a.batch_blocks,
                     a.length_blocks, a.rows, a.summed ? ", summed" : "");
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

class ExpertCounts : public LabelledOp {
 public:
  std::string_view name() const override { return "expert_counts"; }
  std::string_view work_kind() const override { return "reductions"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return {{"(gb)(hs)k"}, {"(hg)pn", ""}, "bskpn", false, {}, sizes_of(checked(attributes))};
  }
  bool takes(int, DType dtype) const override { return dtype == DType::i32; }
  DType result_dtype(int result, const Attributes&, std::span<const TensorType>) const override {
    return result == 0 ? DType::i32 : DType::f32;
  }
  double flops_per_element() const override { return 4; }
};

const ExpertCounts expert_counts;

class Dispatch : public LabelledOp {
 public:
  std::string_view name() const override { return "dispatch"; }
  std::string_view work_kind() const override { return "reductions"; }
  int counts_operand() const override { return 2; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const bool slotted = !operands.empty() && operands[0].shape.size() == 4;
    return {{slotted ? "(gb)(hs)kd" : "(gb)(hs)d", "(gb)(hs)k", "(hg)pn"},
            {"(hg)pcd"},
            "bskpnc",
            false,
            {},
            sizes_of(checked(attributes))};
  }
  bool takes(int operand, DType dtype) const override { return operand == 0 ? is_float(dtype) : dtype == DType::i32; }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 1; }
};

class Combine : public LabelledOp {
 public:
  std::string_view name() const override { return "combine"; }
  std::string_view work_kind() const override { return "reductions"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    const DispatchAttributes& a = checked(attributes);
    return {
        {"(hg)pcd", "(gb)(hs)k", "(hg)pn"}, {a.summed ? "(gb)(hs)d" : "(gb)(hs)kd"}, "bskpnc", false, {}, sizes_of(a)};
  }
  void gradient(GradientContext& context) const override;
  bool takes(int operand, DType dtype) const override { return operand == 0 ? is_float(dtype) : dtype == DType::i32; }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
  double flops_per_element() const override { return 1; }
};

const Dispatch dispatch;
const Combine combine;

// Each row's cotangent goes back to where the row is from.
void Dispatch::gradient(GradientContext& context) const {
  const Op op = context.graph.ops[context.op];
  auto back = op.attributes.as<DispatchAttributes>();
  back.summed = context.graph.type(op.inputs[0]).shape.size() == 3;
  context.operand_cotangents[0] =
      context.append_value(combine, {context.result_cotangents[0], op.inputs[1], op.inputs[2]}, back);
}

void Combine::gradient(GradientContext& context) const {
  const Op op = context.graph.ops[context.op];
  auto there = op.attributes.as<DispatchAttributes>();
  there.summed = false;
  context.operand_cotangents[0] =
      context.append_value(dispatch, {context.result_cotangents[0], op.inputs[1], op.inputs[2]}, there);
}

}  // namespace

std::vector<const OpDefinition*> dispatch_ops() { return {&expert_counts, &dispatch, &combine}; }

}  // namespace shardscope
