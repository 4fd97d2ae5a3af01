#include <array>
#include <string>

#include "engine/ops/equation.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

std::string letters_of(const std::string& text) {
  std::string letters = text;
  std::erase_if(letters, [](char c) { return c == '(' || c == ')'; });
  return letters;
}

// The sizes of an equation's letters, and a position for each. Joined dimensions are major to minor and arrays
// row-major, so brackets do not change where an element is.
class Letters {
 public:
  explicit Letters(const Call& call) {
    const EquationAttributes& attributes = call.attributes.as<EquationAttributes>();
    for (auto [letter, size] : attributes.sizes) size_[index(letter)] = size;
    for (bool brackets : {false, true}) {
      for (size_t i = 0; i < call.operands.size(); ++i) {
        read_sizes(attributes.equation.operands[i], call.shape(i), brackets);
      }
    }
    for (const std::string& operand : attributes.equation.operands) all_ += letters_of(operand);
  }

  int64_t count(const std::string& letters) const {
    int64_t product = 1;
    for (char letter : letters) product *= size_[index(letter)];
    return product;
  }
  // Row-major index of the element at the present positions.
  int64_t at(const std::string& letters) const {
    int64_t element = 0;
    for (char letter : letters) element = element * size_[index(letter)] + position_[index(letter)];
    return element;
  }
  // Once for each choice of positions.
  template <class Visit>
  void for_each(Visit visit, size_t from = 0) {
    if (from == all_.size()) return visit();
    const char letter = all_[from];
    if (all_.find(letter) < from) return for_each(visit, from + 1);
    int64_t& position = position_[index(letter)];
    for (position = 0; position < size_[index(letter)]; ++position) for_each(visit, from + 1);
  }

 private:
  static size_t index(char letter) { return static_cast<unsigned char>(letter); }

  // Of one letter the dimension is the size; of several in brackets it says the one that is not yet known.
  void read_sizes(const std::string& text, const Shape& shape, bool brackets) {
    size_t dimension = 0;
    for (size_t c = 0; c < text.size(); ++c, ++dimension) {
      if (text[c] != '(') {
        size_[index(text[c])] = shape[dimension];
        continue;
      }
      int64_t rest = shape[dimension];
      char unknown = 0;
      for (++c; text[c] != ')'; ++c) {
        if (size_[index(text[c])] == 0) {
          unknown = text[c];
        } else {
          rest /= size_[index(text[c])];
        }
      }
      if (brackets && unknown) size_[index(unknown)] = rest;
    }
  }

  std::string all_;
  std::array<int64_t, 256> size_{}, position_{};
};

// Of the operands' elements, summed over the letters that the result lacks.
Results sum_of_products(const Call& call) {
  const Equation& equation = call.attributes.as<EquationAttributes>().equation;
  Letters letters(call);
  std::vector<std::string> operands;
  for (const std::string& operand : equation.operands) operands.push_back(letters_of(operand));
  const std::string result = letters_of(equation.result);
  Values sum = Values::Zero(letters.count(result));
  letters.for_each([&] {
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) product *= call.values(i)[letters.at(operands[i])];
    sum[letters.at(result)] += product;
  });
  return {sum};
}

Results add(const Call& call) {
  const Equation& equation = call.attributes.as<EquationAttributes>().equation;
  Letters letters(call);
  Values sum(letters.count(equation.result));
  letters.for_each([&] {
    sum[letters.at(equation.result)] =
        call.values(0)[letters.at(equation.operands[0])] + call.values(1)[letters.at(equation.operands[1])];
  });
  return {sum};
}

}  // namespace

std::vector<NamedReference> equation_references() {
  return {{"einsum", sum_of_products}, {"reduce_sum", sum_of_products}, {"rearrange", sum_of_products}, {"add", add}};
}

}  // namespace shardscope::reference
