#include "engine/shard/propagation.h"

#include <algorithm>

#include "engine/mesh/reshard.h"
#include "engine/shard/placement.h"

namespace shardscope {

namespace {

bool passes_through(const FactorRule& rule, size_t factor) {
  return std::ranges::all_of(rule.results,
                             [&](const auto& dims) { return dimension_of(dims, static_cast<int>(factor)) >= 0; });
}

bool only_passes_through(const FactorRule& rule) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (!passes_through(rule, f)) return false;
  }
  return true;
}

bool has_all_factors(const FactorRule& rule, const std::vector<DimensionFactors>& dims) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (dimension_of(dims, static_cast<int>(f)) < 0) return false;
  }
  return true;
}

class Propagation {
 public:
  Propagation(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& pins,
              const PropagationObserver& observer)
      : graph_(graph),
        mesh_(mesh),
        pins_(pins),
        observer_(observer),
        changed_(graph.values.size()),
        visited_(graph.ops.size()) {
    layouts_.reserve(graph.values.size());
    for (size_t v = 0; v < graph.values.size(); ++v) {
      int rank = static_cast<int>(graph.values[v].type.shape.size());
      layouts_.push_back(pins[v] ? *pins[v] : Sharding::replicated(rank));
    }
    for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
      if (graph.ops[op].phase == Phase::forward)
        (only_passes_through(graph.rule(op)) ? passing_ : contracting_).push_back(op);
    }
  }

  std::vector<Sharding> run() {
    settle(passing_, Stage::passing_ops);
    std::vector<OpId> all(passing_.size() + contracting_.size());
    std::merge(passing_.begin(), passing_.end(), contracting_.begin(), contracting_.end(), all.begin());
    for (Stage stage : {Stage::passing_factors, Stage::all_but_broadcasts, Stage::all}) settle(all, stage);
    return std::move(layouts_);
  }

 private:
  enum class Stage : uint8_t { passing_ops, passing_factors, all_but_broadcasts, all };

  struct Place {
    ValueId value;
    const std::vector<DimensionFactors>* dims;
    bool gives = true;  // its axes to the others
  };

  void settle(const std::vector<OpId>& ops, Stage stage) {
    stage_ = stage;
    std::ranges::fill(visited_, 0);
    bool changed = true;
    while (changed) {
      changed = false;
      for (OpId op : ops) changed |= visit(op);
      for (auto op = ops.rbegin(); op != ops.rend(); ++op) changed |= visit(*op);
    }
  }

  // A visit changes nothing more unless one of the op's arrays has changed since.
  bool visit(OpId id) {
    const Op& op = graph_.ops[id];
    bool stale = visited_[id] == 0;
    for (ValueId value : op.inputs) stale |= changed_[value] > visited_[id];
    for (ValueId value : op.outputs) stale |= changed_[value] > visited_[id];
    if (!stale) return false;
    const auto is_split = [&](ValueId value) { return layouts_[value].used_axes() != 0; };
    if (std::ranges::none_of(op.inputs, is_split) && std::ranges::none_of(op.outputs, is_split)) {
      visited_[id] = ++clock_;
      return false;
    }
    const FactorRule& rule = graph_.rule(id);
    places_.clear();
    const bool broadcasts = stage_ != Stage::all && only_passes_through(rule);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool counts = static_cast<int>(i) == op.definition->counts_operand();
      const bool gives = !counts && (!broadcasts || has_all_factors(rule, rule.operands[i]));
      places_.push_back({op.inputs[i], &rule.operands[i], gives});
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) places_.push_back({op.outputs[i], &rule.results[i]});
    bool changed = false;
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      if (stage_ == Stage::passing_factors && !passes_through(rule, f)) continue;
      if (rule.factors[f].splittable) changed |= spread(id, static_cast<int>(f), rule);
    }
    visited_[id] = ++clock_;
    return changed;
  }

  // Whether the next axis of the place's dimension would be the factor's: all before it are split wholly, none behind
  // it.
  bool extends(const Place& place, int dim, int factor, const FactorRule& rule) const {
    const DimensionFactors& factors = (*place.dims)[dim];
    if (factors.size() == 1) return true;
    const AxisList& list = layouts_[place.value].dims[dim];
    Placement split;
    add_dimension_axes(rule, factors, list, mesh_, split);
    bool before = true;
    int assigned = 0;
    for (int other : factors) {
      const AxisList& axes = split.factors[other];
      assigned += axes.count;
      if (other == factor) {
        before = false;
      } else if (before ? group_size(axes, mesh_) != rule.factors[other].size : !axes.empty()) {
        return false;
      }
    }
    return assigned == list.count;
  }

  bool spread(OpId op, int factor, const FactorRule& rule) {
    AxisList wanted;
    lists_.clear();
    for (const Place& place : places_) {
      if (!place.gives) continue;
      lists_.push_back(factor_axes(rule, *place.dims, factor, layouts_[place.value], mesh_));
      if (lists_.back().count > wanted.count) wanted = lists_.back();
    }
    if (wanted.empty()) return false;
    for (const AxisList& list : lists_) {
      int common = 0;
      while (common < std::min(list.count, wanted.count) && list.axes[common] == wanted.axes[common]) ++common;
      if (common < list.count) {
        while (wanted.count > common) wanted.pop_back();
      }
    }
    bool changed = false;
    for (const Place& place : places_) {
      const int dim = dimension_of(*place.dims, factor);
      if (dim < 0 || pins_[place.value]) continue;
      Sharding& layout = layouts_[place.value];
      const AxisList list = factor_axes(rule, *place.dims, factor, layout, mesh_);
      if (list.count == wanted.count || !wanted.starts_with(list) || !extends(place, dim, factor, rule)) continue;
      int64_t parts = group_size(list, mesh_);
      for (int i = list.count; i < wanted.count; ++i) {
        AxisIndex axis = wanted.axes[i];
        parts *= mesh_.axis_size(axis);
        if (((layout.used_axes() >> axis) & 1) || rule.factors[factor].size % parts != 0) break;
        layout.dims[dim].push_back(axis);
        changed = true;
        changed_[place.value] = ++clock_;
        if (observer_) observer_(place.value, dim, axis, op);
      }
    }
    return changed;
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const std::vector<std::optional<Sharding>>& pins_;
  const PropagationObserver& observer_;
  std::vector<Sharding> layouts_;
  std::vector<OpId> passing_, contracting_;
  Stage stage_ = Stage::passing_ops;
  std::vector<Place> places_;     // of the op that is visited
  std::vector<AxisList> lists_;   // of the factor at hand, of those that give
  int64_t clock_ = 0;             // counts changes and visits
  std::vector<int64_t> changed_;  // per value: when it last got an axis
  std::vector<int64_t> visited_;  // per op
};

}  // namespace

std::vector<Sharding> propagate(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& pins,
                                const PropagationObserver& observer) {
  return Propagation(graph, mesh, pins, observer).run();
}

}  // namespace shardscope
