#include "engine/ops/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/ops/joining_op.h"

namespace shardscope {

std::string to_string(const SplitAttributes& a) {
  return fmt::format("dimension={}, sizes={}", a.dimension, fmt::join(a.sizes, "+"));
}

namespace {

constexpr size_t most_parts = 4;

// numpy.split and numpy.concatenate: one array, and its parts along a dimension that no device may split.
class PartsOp : public JoiningOp {
 protected:
  // Letters of the whole array, of each part, and the sizes of those that occur along the dimension.
  struct Letters {
    std::string whole;
    std::vector<std::string> parts;
    std::string unsplit;
    std::vector<std::pair<char, int64_t>> sizes;
  };
  static Letters letters(const SplitAttributes& attributes, size_t rank) {
    const bool fits = attributes.dimension >= 0 && attributes.dimension < static_cast<int>(rank) && rank <= 6 &&
                      !attributes.sizes.empty() && attributes.sizes.size() <= most_parts &&
                      std::ranges::min(attributes.sizes) >= 1;
    if (!fits) {
      throw Failure(Error{"attributes", "cannot split with " + to_string(attributes), "",
                          fmt::format("a dimension of the array, and up to {} parts", most_parts)});
    }
    const auto at = static_cast<size_t>(attributes.dimension);
    Letters result;
    result.whole = elementwise_labels(rank);
    result.whole[at] = 'z';
    result.unsplit = "z";
    result.sizes = {{'z', std::accumulate(attributes.sizes.begin(), attributes.sizes.end(), int64_t{0})}};
    for (size_t i = 0; i < attributes.sizes.size(); ++i) {
      const char letter = static_cast<char>('p' + i);
      result.parts.push_back(result.whole);
      result.parts.back()[at] = letter;
      result.unsplit += letter;
      result.sizes.emplace_back(letter, attributes.sizes[i]);
    }
    return result;
  }
};

// The parts -> one array.
class Concatenate : public PartsOp {
 public:
  std::string_view name() const override { return "concatenate"; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    const Letters l = letters(attributes.as<SplitAttributes>(), operands.empty() ? 0 : operands[0].shape.size());
    return {l.parts, {l.whole}, l.unsplit, true, {}, l.sizes};
  }
};

// One array -> its parts.
class Split : public PartsOp {
 public:
  std::string_view name() const override { return "split"; }
  bool is_view() const override { return true; }
  void gradient(GradientContext& context) const override;

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const Letters l = letters(attributes.as<SplitAttributes>(), operands.empty() ? 0 : operands[0].shape.size());
    return {{l.whole}, l.parts, l.unsplit, true, {}, l.sizes};
  }
};

const Concatenate concatenate_op;
const Split split_op;

void Concatenate::gradient(GradientContext& context) const { take_apart(split_op, context); }
void Split::gradient(GradientContext& context) const { put_together(concatenate_op, context); }

}  // namespace

std::vector<const OpDefinition*> split_ops() { return {&split_op, &concatenate_op}; }

}  // namespace shardscope
