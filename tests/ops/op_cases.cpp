#include "tests/ops/op_cases.h"

#include <algorithm>
#include <random>

namespace shardscope::test {

namespace {

const std::vector<OpCases>& families() {
  static const std::vector<OpCases> all = op_case_families();
  return all;
}

template <class T>
std::vector<T> joined(std::vector<T> OpCases::*part) {
  std::vector<T> all;
  for (const OpCases& family : families()) all.insert(all.end(), (family.*part).begin(), (family.*part).end());
  return all;
}

OperandRange range_of(const OpCases& family, const OpCase& one, size_t operand) {
  for (const OperandRange& range : family.ranges) {
    if (range.op == one.op && range.operand == operand) return range;
  }
  if (one.operands[operand].dtype == DType::i32) return {one.op, operand, 0, double(family.largest_integer)};
  return {one.op, operand, -1, 1};
}

}  // namespace

std::vector<OpCase> op_cases() { return joined(&OpCases::cases); }
std::vector<OpCase> small_op_cases() { return joined(&OpCases::small_cases); }
std::vector<NamedNetwork> networks() { return joined(&OpCases::networks); }

const OpCases& cases_of(const std::string& op) {
  static const OpCases none;
  for (const OpCases& family : families()) {
    if (std::ranges::find(family.cases, op, &OpCase::op) != family.cases.end()) return family;
  }
  return none;
}

std::vector<TestArray> random_operands(const OpCase& one) {
  const OpCases& family = cases_of(one.op);
  std::mt19937 random(11);
  std::vector<TestArray> operands;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    const auto& [shape, dtype] = one.operands[i];
    const OperandRange range = range_of(family, one, i);
    std::uniform_real_distribution<float> uniform(static_cast<float>(range.low), static_cast<float>(range.high));
    const auto integers = static_cast<uint32_t>(range.high - range.low) + 1;
    operands.emplace_back(one.operands[i].bytes());
    for (int64_t e = 0; e < element_count(shape); ++e) {
      operands.back().set(dtype, e, dtype == DType::i32 ? range.low + double(random() % integers) : uniform(random));
    }
  }
  if (family.fit) family.fit(one, operands);
  return operands;
}

}  // namespace shardscope::test
