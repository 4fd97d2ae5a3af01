#include "engine/graph/factor_rule.h"

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr int64_t unknown = -1;

[[noreturn]] void fail(const char* code, const std::string& message, const std::string& hint = "") {
  throw Failure(Error{code, message, "", hint});
}

class RuleBuilder {
 public:
  explicit RuleBuilder(const Labels& labels) : labels_(labels) {
    rule_.linear = labels.linear;
    rule_.reductions = labels.reductions;
    rule_.reductions.resize(labels.results.size(), Reduction::sum);
  }

  FactorRule build(std::span<const TensorType> operands) {
    if (labels_.operands.size() != operands.size()) {
      fail("operand_count",
           "it takes " + std::to_string(labels_.operands.size()) + " operands, got " + std::to_string(operands.size()));
    }
    for (const std::string& text : labels_.operands) rule_.operands.push_back(factors_of(text));
    for (const std::string& text : labels_.results) rule_.results.push_back(factors_of(text));
    for (size_t i = 0; i < operands.size(); ++i) {
      if (rule_.operands[i].size() != operands[i].shape.size()) {
        fail("rank", "operand " + std::to_string(i) + " of shape " + to_string(operands[i].shape) + " does not fit '" +
                         labels_.operands[i] + "'");
      }
    }
    for (auto [label, size] : labels_.sizes) {
      for (Factor& factor : rule_.factors) {
        if (factor.label == label) factor.size = size;
      }
    }
    for (auto [label, shift] : labels_.rings) {
      for (Factor& factor : rule_.factors) {
        if (factor.label == label) factor.ring = shift;
      }
    }
    // Dimensions of one factor first; those of several then lack one at most.
    for (bool composed : {false, true}) {
      for (size_t i = 0; i < operands.size(); ++i) {
        for (size_t d = 0; d < operands[i].shape.size(); ++d) {
          const DimensionFactors& dimension = rule_.operands[i][d];
          if ((dimension.size() > 1) == composed) resolve(dimension, operands[i].shape[d]);
        }
      }
    }
    for (const Factor& factor : rule_.factors) {
      if (factor.size == unknown) {
        fail("equation", std::string("the size of dimension '") + factor.label + "' follows from no operand");
      }
    }
    return std::move(rule_);
  }

 private:
  int factor(char label) {
    for (size_t f = 0; f < rule_.factors.size(); ++f) {
      if (rule_.factors[f].label == label) return static_cast<int>(f);
    }
    if (rule_.factors.size() == FactorRule::max_factors) {
      fail("factor_count", "an op has more than " + std::to_string(FactorRule::max_factors) + " different dimensions");
    }
    rule_.factors.push_back({label, unknown, labels_.whole.find(label) == std::string::npos});
    return static_cast<int>(rule_.factors.size()) - 1;
  }

  std::vector<DimensionFactors> factors_of(const std::string& text) {
    std::vector<DimensionFactors> dimensions;
    uint32_t seen = 0;
    for (const std::string& labels : dimension_labels(text)) {
      DimensionFactors& dimension = dimensions.emplace_back();
      for (char label : labels) {
        const int index = factor(label);
        if ((seen >> index) & 1) {
          fail("repeated_label", std::string("dimension '") + label + "' occurs twice in '" + text + "'",
               "each dimension of an array has its own letter");
        }
        seen |= 1u << index;
        dimension.push_back(index);
      }
    }
    return dimensions;
  }

  void resolve(const DimensionFactors& dimension, int64_t size) {
    Factor* open = nullptr;
    int64_t known = 1;
    for (int index : dimension) {
      Factor& factor = rule_.factors[index];
      if (factor.size != unknown) {
        known *= factor.size;
      } else if (open) {
        fail("equation", std::string("the sizes of '") + open->label + "' and '" + factor.label +
                             "' do not follow from their product");
      } else {
        open = &factor;
      }
    }
    if (!open) {
      if (known == size) return;
      const char label = dimension.empty() ? '1' : rule_.factors[dimension[0]].label;
      fail("shape", std::string("dimension '") + label + "' is " + std::to_string(known) + " in one place and " +
                        std::to_string(size) + " in another");
    }
    if (known == 0 || size % known != 0) {
      fail("shape", std::string("dimension '") + open->label + "' is " + std::to_string(size) + " / " +
                        std::to_string(known) + ", which is not whole");
    }
    open->size = size / known;
  }

  const Labels& labels_;
  FactorRule rule_;
};

}  // namespace

FactorRule make_rule(const Labels& labels, std::span<const TensorType> operands) {
  return RuleBuilder(labels).build(operands);
}

std::vector<std::string> dimension_labels(const std::string& text) {
  std::vector<std::string> dimensions;
  bool inside = false;
  for (char c : text) {
    if (c == '(' ? inside : c == ')' && !inside) fail("equation", "'" + text + "' has a bracket without its partner");
    if (c == '(') {
      inside = true;
      dimensions.emplace_back();
    } else if (c == ')') {
      inside = false;
    } else if (inside) {
      dimensions.back() += c;
    } else {
      dimensions.emplace_back(1, c);
    }
  }
  if (inside) fail("equation", "'" + text + "' has a bracket without its partner");
  return dimensions;
}

int64_t dimension_size(const FactorRule& rule, const DimensionFactors& dimension) {
  int64_t size = 1;
  for (int factor : dimension) size *= rule.factors[factor].size;
  return size;
}

Shape result_shape(const FactorRule& rule, int result) {
  Shape shape;
  for (const DimensionFactors& dimension : rule.results[result]) shape.push_back(dimension_size(rule, dimension));
  return shape;
}

}  // namespace shardscope
