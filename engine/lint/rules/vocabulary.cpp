#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <variant>

#include "engine/lint/rules/given_axes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// Rows that a product of matrices works on together on a device of its own: "the vocabulary size should be divisible by
// 64" (A. Karpathy, nanoGPT; NVIDIA, "Matrix Multiplication Background User's Guide").
constexpr int64_t useful_divisor = 64;

// Rows of an embedding or columns of a head, and what a rule splits them over.
struct Vocabulary {
  int64_t size = 0;
  std::optional<GivenAxes> indivisible;  // axes that do not divide it
};

Vocabulary vocabulary_of(const LintSubject& subject) {
  Vocabulary found;
  for (const ParameterPlan& parameter : subject.plan.parameters) {
    const std::vector<std::string>& logical = logical_names(subject.plan, parameter);
    const auto dim = static_cast<size_t>(std::ranges::find(logical, "vocab") - logical.begin());
    if (dim == logical.size()) continue;
    const int64_t size = parameter.shape[dim];
    if (found.size == 0) found.size = size;
    std::optional<GivenAxes> given = given_axes(subject, parameter, dim);
    if (given && size % given->devices != 0) return {size, std::move(given)};
  }
  return found;
}

std::vector<Fault> vocabulary_faults(const LintSubject& subject) {
  const auto [vocabulary, given] = vocabulary_of(subject);
  if (vocabulary == 0) return {};
  const int64_t useful = subject.plan.machine.device.kind == DeviceKind::own ? useful_divisor : 1;
  if (!given && vocabulary % useful == 0) return {};
  const int64_t divisor = given ? std::lcm(useful, given->devices) : useful;
  const int64_t larger = (vocabulary + divisor - 1) / divisor * divisor;
  Fault fault;
  fault.place = "model";
  fault.message = given ? fmt::format("the vocabulary of {} does not divide by {}: each keeps and multiplies all of it",
                                      vocabulary, given->text(subject))
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
