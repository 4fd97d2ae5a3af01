#include "engine/compile/token_split.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

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

bool is_tokens(const SpecTarget& target) {
  return target.kind == SpecKind::input && target.logical == std::vector<std::string>{"batch", "length"};
}

// What experts work on where a model has no tokens: rows of examples, or of sequences.
bool is_rows(const SpecTarget& target) {
  return target.kind == SpecKind::input && !target.logical.empty() && target.logical.front() == "batch";
}

bool has_length(const SpecTarget& target) { return target.logical.size() > 1 && target.logical[1] == "length"; }

bool is_kernels_of_experts(const SpecTarget& target) {
  return target.kind == SpecKind::parameter && target.logical.size() >= 3 && target.logical[0] == "experts";
}

bool has_experts(const std::vector<SpecTarget>& targets) { return std::ranges::any_of(targets, is_kernels_of_experts); }

}  // namespace

bool has_experts(const Graph& forward) { return has_experts(spec_targets(forward).targets); }

TokenSplit token_split(const RunConfig& config, const StagedMesh& mesh, const Graph& forward) {
  std::vector<SpecTarget> targets = spec_targets(forward).targets;
  const bool experts_of_rows = has_experts(targets) && std::ranges::none_of(targets, is_tokens);
  const auto splits_tokens = experts_of_rows ? is_rows : is_tokens;
  std::erase_if(targets,
                [&](const SpecTarget& target) { return !splits_tokens(target) && !is_kernels_of_experts(target); });
  const std::vector<ResolvedSpec> specs = resolve_run_specs(config.sharding, mesh, targets).specs;
  const Mesh& devices = mesh.of_a_stage;
  TokenSplit split;
  for (size_t t = 0; t < targets.size(); ++t) {
    if (splits_tokens(targets[t])) {
      split.batch = axes_of(specs[t], 0, devices);
      if (has_length(targets[t])) split.length = axes_of(specs[t], 1, devices);
      split.place_of_tokens = {specs[t].place, specs[t].origin};
    } else if (AxisNames axes = axes_of(specs[t], 0, devices); split.experts.empty() || !axes.empty()) {
      split.experts = std::move(axes);
      split.features.clear();
      for (size_t d = 1; d < targets[t].logical.size(); ++d) {
        for (const std::string& axis : axes_of(specs[t], d, devices)) split.features.push_back(axis);
      }
      split.place_of_experts = {specs[t].place, specs[t].origin};
    }
  }
  std::erase_if(split.features, [&](const std::string& axis) {
    return std::ranges::count(split.batch, axis) + std::ranges::count(split.length, axis) > 0;
  });
  const AxisNames &experts = split.experts, &batch = split.batch;
  if (experts.size() > batch.size() || !std::equal(experts.rbegin(), experts.rend(), batch.rbegin())) {
    split.experts.clear();
  }
  split.blocks_of_features = parts(split.features, devices);
  split.blocks = {has_experts(targets) ? parts(batch, devices) : 1, parts(split.length, devices),
                  parts(split.experts, devices)};
  return split;
}

void pin_tokens(const TokenSplit& split, const SpecTargets& arrays, const Graph& graph, ResolvedSpecs& resolved) {
  std::map<ValueId, size_t> target_of;
  for (size_t t = 0; t < arrays.values.size(); ++t) {
    if (arrays.targets[t].kind == SpecKind::activation) target_of[arrays.values[t]] = t;
  }
  const auto pin = [&](ValueId value, std::vector<AxisNames> dims, const std::pair<std::string, std::string>& place) {
    const auto found = target_of.find(value);
    if (found == target_of.end() || resolved.specs[found->second].pinned || place.first.empty()) return;
    ResolvedSpec& spec = resolved.specs[found->second];
    spec.spec.dims = std::move(dims);
    spec.pinned = true;
    std::tie(spec.place, spec.origin) = place;
  };
  AxisNames tokens = split.length;
  if (!split.experts.empty()) {
    tokens.insert(tokens.end(), split.batch.begin(),
                  split.batch.end() - static_cast<std::ptrdiff_t>(split.experts.size()));
  }
  const auto pin_rows = [&](ValueId rows) {
    const Shape& shape = graph.type(rows).shape;
    const bool in_blocks = shape[1] == split.blocks.experts, divides = shape[3] % split.blocks_of_features == 0;
    if (split.experts.empty() || !in_blocks) return;
    pin(rows, {tokens, split.experts, {}, divides ? split.features : AxisNames()}, split.place_of_experts);
  };
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    if (op.definition == &op_definition("dispatch")) pin_rows(op.outputs[0]);
    if (op.definition == &op_definition("combine")) pin_rows(op.inputs[0]);
    const bool tokens_again =
        op.definition == &op_definition("zigzag") && graph.values[op.inputs[0]].kind == ValueKind::input;
    if (tokens_again) pin(op.outputs[0], {split.batch, split.length}, split.place_of_tokens);
  }
}

}  // namespace shardscope
