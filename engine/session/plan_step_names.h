#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

struct PlanStepName {
  std::string name;
  Phase phase = Phase::forward;
  bool operator==(const PlanStepName&) const = default;
};

// The plan steps of each rank by position in its main sequence: those of its stage of the pipeline.
struct PlanStepNames {
  std::vector<std::vector<PlanStepName>> stages = std::vector<std::vector<PlanStepName>>(1);
  std::vector<int> stage_of_rank;  // empty: one stage

  PlanStepNames() = default;
  PlanStepNames(std::vector<PlanStepName> all) : stages{std::move(all)} {}
  PlanStepNames(std::initializer_list<PlanStepName> all) : stages{all} {}

  int stage_of(int rank) const {
    const auto index = static_cast<size_t>(rank);
    return index < stage_of_rank.size() ? stage_of_rank[index] : 0;
  }
  const std::vector<PlanStepName>& of(int rank) const { return stages.at(static_cast<size_t>(stage_of(rank))); }
  bool operator==(const PlanStepNames&) const = default;
};

struct Plan;
PlanStepNames plan_step_names(const Plan& plan);
// How many each rank does.
std::vector<int> step_counts(const PlanStepNames& names, int ranks);

}  // namespace shardscope
