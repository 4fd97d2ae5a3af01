#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// The mesh axes that a rule by logical names gives to a dimension, in its order. Where their product does not divide
// the dimension, it stays whole (engine/shard/spec_rules.h).
struct GivenAxes {
  Place place;  // of the entry in the run file: "sharding.rules[1].axes.vocab"
  std::vector<AxisIndex> axes;
  int64_t devices = 1;  // product of their sizes

  std::string text(const LintSubject& subject) const;  // "the 4 devices of axes 'm1' and 'm2'"
};

// Of a parameter's dimension; nothing where its spec is given by name, or where no rule speaks of it.
std::optional<GivenAxes> given_axes(const LintSubject& subject, const ParameterPlan& parameter, size_t dim);
// Of the rows of the first input that has some; nothing where `sharding.in` says where inputs are.
std::optional<GivenAxes> given_to_rows(const LintSubject& subject);

// The first input that has rows; null where there is none.
const ValueLayout* first_input(const Plan& plan);
// The names of a parameter's dimensions, "" where one has none.
const std::vector<std::string>& logical_names(const Plan& plan, const ParameterPlan& parameter);

}  // namespace shardscope
