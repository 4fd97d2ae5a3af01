#include "engine/compile/token_split.h"

#include <algorithm>
#include <map>

#include "engine/compile/training_graph.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

using AxisNames = std::vector<std::string>;

// Of the axes that split a dimension, those larger than 1; and how many parts they make.
AxisNames axes_of(const ResolvedSpec& spec, size_t dimension, const Mesh& mesh) {
  AxisNames axes;
  if (dimension >= spec.spec.dims.size()) return axes;
  for (const std::string& name : spec.spec.dims[dimension]) {
    if (mesh.axis_size(*mesh.find_axis(name)) > 1) axes.push_back(name);
  }
  return axes;
}

int64_t parts(const AxisNames& axes, const Mesh& mesh) {
  int64_t count = 1;
  for (const std::string& name : axes) count *= mesh.axis_size(*mesh.find_axis(name));
  return count;
}

bool are_kernels_of_experts(const std::vector<std::string>& logical) {
  return logical.size() == 3 && logical[0] == "experts";
}

}  // namespace

bool has_experts(const Graph& forward) {
  return std::ranges::any_of(
      forward.states, [&](const State& state) { return are_kernels_of_experts(forward.values[state.before].logical); });
}

TokenSplit token_split(const RunConfig& config, const StagedMesh& mesh, const Graph& forward) {
  const std::vector<SpecTarget> targets = spec_targets(forward).targets;
  const ResolvedSpecs resolved = resolve_run_specs(config.sharding, mesh, targets);
  TokenSplit split;
  if (!resolved.errors.empty()) return split;
  const Mesh& devices = mesh.of_a_stage;
  AxisNames batch, length, experts;
  for (size_t t = 0; t < targets.size(); ++t) {
    const std::vector<std::string>& logical = targets[t].logical;
    const ResolvedSpec& spec = resolved.specs[t];
    if (targets[t].kind == SpecKind::input && logical == std::vector<std::string>{"batch", "length"}) {
      batch = axes_of(spec, 0, devices);
      length = axes_of(spec, 1, devices);
    }
    if (targets[t].kind == SpecKind::parameter && are_kernels_of_experts(logical)) {
      experts = axes_of(spec, 0, devices);
      split.place = spec.place;
      split.origin = spec.origin;
    }
  }
  split.blocks.batch = parts(batch, devices);
  split.blocks.length = parts(length, devices);
  const bool travels = !experts.empty() && experts.size() <= batch.size() &&
                       std::equal(experts.rbegin(), experts.rend(), batch.rbegin());
  if (!travels) return split;
  split.blocks.experts = parts(experts, devices);
  split.experts = experts;
  split.tokens = length;
  split.tokens.insert(split.tokens.end(), batch.begin(), batch.end() - static_cast<std::ptrdiff_t>(experts.size()));
  return split;
}

void pin_exchanged_rows(const TokenSplit& split, const SpecTargets& arrays, const Graph& graph,
                        ResolvedSpecs& resolved) {
  if (split.experts.empty()) return;
  std::map<ValueId, size_t> target_of;
  for (size_t t = 0; t < arrays.values.size(); ++t) {
    if (arrays.targets[t].kind == SpecKind::activation) target_of[arrays.values[t]] = t;
  }
  const auto pin = [&](ValueId rows) {
    const auto found = target_of.find(rows);
    if (found == target_of.end()) return;
    ResolvedSpec& spec = resolved.specs[found->second];
    if (spec.pinned) return;
    spec.spec.dims = std::vector<AxisNames>{split.tokens, split.experts, AxisNames(), AxisNames()};
    spec.pinned = true;
    spec.place = split.place;
    spec.origin = split.origin;
  };
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    if (op.definition == &op_definition("dispatch")) pin(op.outputs[0]);
    if (op.definition == &op_definition("combine")) pin(op.inputs[0]);
  }
}

}  // namespace shardscope
