#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/families.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

double elements(const TensorType& type) { return static_cast<double>(element_count(type.shape)); }

// Base of ops described by one equation, jointly linear in their operands.
class LinearEquationOp : public OpDefinition {
 public:
  std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return {{result_shape(parse_equation(attributes, operands.size()), operands), DType::f32}};
  }
  FactorRule factors(const Attributes& attributes, std::span<const TensorType> operands,
                     std::span<const TensorType> results) const override {
    Equation equation = parse_equation(attributes, operands.size());
    return make_rule(equation.operands, {equation.result}, operands, results, "", /*linear=*/true);
  }
  double flops(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>) const override {
    return elements(operands[0]);
  }
};

// Sums the dimensions that the result lacks: "bse->e".
class ReduceSum : public LinearEquationOp {
 public:
  std::string_view name() const override { return "reduce_sum"; }
};

const ReduceSum reduce_sum;

// a + b, where b may lack dimensions of a (broadcast), but has the others in a's order: "bse,e->bse".
class Add : public LinearEquationOp {
 public:
  std::string_view name() const override { return "add"; }
  std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const Equation equation = parse_equation(attributes, operands.size());
    const std::string& a = equation.operands[0];
    size_t matched = 0;
    for (char label : a) matched += matched < equation.operands[1].size() && equation.operands[1][matched] == label;
    if (a != equation.result || matched != equation.operands[1].size()) {
      throw Failure(Error{"equation", "equation '" + text(attributes, "equation") + "' is not an addition", "",
                          "the result has the dimensions of the first operand, the second some of them in that order"});
    }
    return LinearEquationOp::infer(attributes, operands);
  }
  int in_place_operand(int) const override { return 0; }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    Equation equation = parse_equation(op.attributes, 2);
    ValueId cotangent = context.result_cotangents[0];
    context.operand_cotangents[0] = cotangent;
    context.operand_cotangents[1] =
        equation.operands[1] == equation.result
            ? cotangent
            : context.append_value(reduce_sum, {cotangent},
                                   {{"equation", equation.result + "->" + equation.operands[1]}});
  }
};

const Add add;

}  // namespace

std::vector<const OpDefinition*> add_ops() { return {&add, &reduce_sum}; }

}  // namespace shardscope
