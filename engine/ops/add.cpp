#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

// Base of ops described by one equation, jointly linear in their operands, in f32 or bf16; sums are taken in f32.
class LinearEquationOp : public LabelledOp {
 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    return {equation.operands, {equation.result}, "", /*linear=*/true};
  }
  double flops_per_element() const override { return 1; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes&, std::span<const TensorType> operands) const override {
    return operands[0].dtype;
  }
};

// Sums the dimensions that the result lacks: "bse->e".
class ReduceSum : public LinearEquationOp {
 public:
  std::string_view name() const override { return "reduce_sum"; }
  std::string_view work_kind() const override { return "reductions"; }
  Attributes with_f32_result(const Attributes& attributes) const override { return widened(attributes); }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType> operands) const override {
    return attributes.as<EquationAttributes>().wide ? DType::f32 : operands[0].dtype;
  }

  // Totals of columns, where dimensions before the last ones are summed: for each thread where there are several sums.
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    const std::string& labels = equation.operands[0];
    const auto kept = [&](size_t d) { return equation.result.find(labels[d]) != std::string::npos; };
    int64_t outer = 1, rows = 1, columns = 1;
    size_t d = 0;
    for (; d < labels.size() && kept(d); ++d) outer *= operands[0].shape[d];
    for (; d < labels.size() && !kept(d); ++d) rows *= operands[0].shape[d];
    for (; d < labels.size(); ++d) columns *= operands[0].shape[d];
    return columns == 1 ? 0 : (outer == 1 ? 1 : threads) * column_sums_workspace_bytes(rows, columns, 1);
  }
};

const ReduceSum reduce_sum;

// a + b, where b may lack dimensions of a (broadcast), but has the others in a's order: "bse,e->bse".
class Add : public LinearEquationOp {
 public:
  std::string_view name() const override { return "add"; }
  std::string_view work_kind() const override { return "elementwise"; }
  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = LinearEquationOp::infer(attributes, operands);
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    const bool two = equation.operands.size() == 2;
    const std::string a = equation.operands[0], b = two ? equation.operands[1] : "";
    size_t matched = 0;
    for (char label : a) matched += matched < b.size() && b[matched] == label;
    if (!two || a != equation.result || matched != b.size()) {
      throw Failure(Error{"equation", "equation '" + to_string(equation) + "' is not an addition", "",
                          "the result has the dimensions of the first operand, the second some of them in that order"});
    }
    return signature;
  }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const Equation& equation = op.attributes.as<EquationAttributes>().equation;
    ValueId cotangent = context.result_cotangents[0];
    context.operand_cotangents[0] = cotangent;
    context.operand_cotangents[1] =
        equation.operands[1] == equation.result
            ? cotangent
            : context.append_value(reduce_sum, {cotangent},
                                   EquationAttributes{Equation({equation.result}, equation.operands[1])});
  }
};

const Add add;

}  // namespace

std::vector<const OpDefinition*> add_ops() { return {&add, &reduce_sum}; }

}  // namespace shardscope
