#include "engine/ops/stack.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/joining_op.h"

namespace shardscope {

std::string to_string(const StackAttributes& a) { return fmt::format("dimension={}, count={}", a.dimension, a.count); }

namespace {

// numpy.stack and its inverse: `count` arrays alike, and one that has them along a dimension of its own, which no
// device may split.
class StackingOp : public JoiningOp {
 protected:
  // Of one array and of all: "abcd" and "abzcd".
  struct Letters {
    std::string one, all;
  };
  static Letters letters(const StackAttributes& attributes, size_t rank_of_one) {
    if (attributes.count < 1 || attributes.dimension < 0 || attributes.dimension > static_cast<int>(rank_of_one)) {
      throw Failure(Error{"attributes", "cannot stack with " + to_string(attributes), "",
                          "a dimension of the result, and at least one array"});
    }
    Letters letters{elementwise_labels(rank_of_one), elementwise_labels(rank_of_one)};
    letters.all.insert(static_cast<size_t>(attributes.dimension), "z");
    return letters;
  }
};

// `count` arrays -> one.
class Stack : public StackingOp {
 public:
  std::string_view name() const override { return "stack"; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    const StackAttributes& stack = attributes.as<StackAttributes>();
    const auto [one, all] = letters(stack, operands.empty() ? 0 : operands[0].shape.size());
    return {
        std::vector<std::string>(static_cast<size_t>(stack.count), one), {all}, "z", true, {}, {{'z', stack.count}}};
  }
};

// One array -> the `count` that it is made of.
class Unstack : public StackingOp {
 public:
  std::string_view name() const override { return "unstack"; }
  bool is_view() const override { return true; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const StackAttributes& stack = attributes.as<StackAttributes>();
    if (operands.empty() || operands[0].shape.empty()) return {{"z"}, {}, "z", true};
    const auto [one, all] = letters(stack, operands[0].shape.size() - 1);
    return {
        {all}, std::vector<std::string>(static_cast<size_t>(stack.count), one), "z", true, {}, {{'z', stack.count}}};
  }
};

const Stack stack;
const Unstack unstack;

void Stack::gradient(GradientContext& context) const { take_apart(unstack, context); }
void Unstack::gradient(GradientContext& context) const { put_together(stack, context); }

}  // namespace

std::vector<const OpDefinition*> stack_ops() { return {&stack, &unstack}; }

}  // namespace shardscope
