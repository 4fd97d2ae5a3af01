#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <variant>

#include "engine/base/plural.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// Rows that a product of matrices works on together on a device of its own: "the vocabulary size should be divisible by
// 64" (A. Karpathy, nanoGPT; NVIDIA, "Matrix Multiplication Background User's Guide").
constexpr int64_t useful_divisor = 64;

int64_t vocabulary_of(const Plan& plan) {
  for (const ParameterPlan& parameter : plan.parameters) {
    const Value& value =
        plan.graph->values[static_cast<size_t>(plan.graph->states[static_cast<size_t>(parameter.state)].before)];
    const auto dim = std::ranges::find(value.logical, "vocab");
    if (dim != value.logical.end()) return parameter.shape[static_cast<size_t>(dim - value.logical.begin())];
  }
  return 0;
}

// Of the axes that split parameters and not the rows of the inputs, the one that does not divide.
const AxisUse* indivisible(const LintSubject& subject, int64_t vocabulary) {
  for (const AxisUse& axis : subject.axes) {
    if (axis.splits_parameters && !axis.splits_rows && !axis.is_pipeline && vocabulary % axis.size != 0) return &axis;
  }
  return nullptr;
}

std::vector<Fault> vocabulary_faults(const LintSubject& subject) {
  const int64_t vocabulary = vocabulary_of(subject.plan);
  if (vocabulary == 0) return {};
  const AxisUse* axis = indivisible(subject, vocabulary);
  const int64_t useful = subject.plan.machine.device.kind == DeviceKind::own ? useful_divisor : 1;
  if (!axis && vocabulary % useful == 0) return {};
  const int64_t divisor = axis ? std::lcm(useful, axis->size) : useful;
  const int64_t larger = (vocabulary + divisor - 1) / divisor * divisor;
  Fault fault;
  fault.place = "model";
  fault.message = axis ? fmt::format(
                             "the vocabulary of {} does not divide by the {} of axis '{}': each keeps and "
                             "multiplies all of it",
                             vocabulary, counted(axis->size, "device"), axis->name)
                       : fmt::format("the vocabulary of {} is no multiple of {}", vocabulary, useful);
  for (const auto& [option, value] : subject.config.model.options) {
    if (const int64_t* size = std::get_if<int64_t>(&value); size && *size == vocabulary) {
      fault.place = "model." + option;
      fault.fixes.push_back({fmt::format("model.{}={}", option, larger)});
    }
  }
  if (fault.fixes.empty()) fault.fixes.push_back({fmt::format("model.overrides.vocab_size={}", larger)});
  fault.no_fix = fmt::format("a vocabulary of {}, whose last rows no token uses", larger);
  return {std::move(fault)};
}

}  // namespace

LintRule vocabulary_rule() { return {"vocabulary", "a vocabulary without a useful divisor", true, vocabulary_faults}; }

}  // namespace shardscope
