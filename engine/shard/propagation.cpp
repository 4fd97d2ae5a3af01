#include "engine/shard/propagation.h"

#include <algorithm>

#include "engine/shard/placement.h"

namespace shardscope {

namespace {

bool only_passes_through(const FactorRule& rule) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (const std::vector<DimensionFactors>& dims : rule.results) {
      bool has = false;
      for (const DimensionFactors& dimension : dims) {
        has |= std::find(dimension.begin(), dimension.end(), static_cast<int>(f)) != dimension.end();
      }
      if (!has) return false;
    }
  }
  return true;
}

class Propagation {
 public:
  Propagation(const Graph& graph, const Mesh& mesh, const std::vector<FactorRule>& rules,
              const std::vector<std::optional<Sharding>>& pins, const PropagationObserver& observer)
      : graph_(graph), mesh_(mesh), rules_(rules), pins_(pins), observer_(observer) {
    for (size_t v = 0; v < graph.values.size(); ++v) {
      int rank = static_cast<int>(graph.values[v].type.shape.size());
      layouts_.push_back(pins[v] ? *pins[v] : Sharding::replicated(rank));
    }
  }

  std::vector<Sharding> run() {
    for (bool contractions : {false, true}) {
      bool changed = true;
      while (changed) {
        changed = false;
        int count = static_cast<int>(graph_.ops.size());
        for (OpId op = 0; op < count; ++op) changed |= visit(op, contractions);
        for (OpId op = count - 1; op >= 0; --op) changed |= visit(op, contractions);
      }
    }
    return std::move(layouts_);
  }

 private:
  struct Place {
    ValueId value;
    int dim;
    const DimensionFactors* factors;  // of that dimension
  };

  // What the layout of the place's value says of one factor of its dimension; and whether an axis may be added to that
  // factor next, all before it being split wholly and none behind it at all.
  struct FactorAxes {
    AxisList axes;
    bool extends = true;
  };
  FactorAxes axes_of(const Place& place, int factor, const FactorRule& rule) const {
    const AxisList& list = layouts_[place.value].dims[place.dim];
    if (place.factors->size() == 1) return {list, true};
    Placement split;
    add_dimension_axes(rule, *place.factors, list, mesh_, split);
    FactorAxes result{split.factors[factor], true};
    bool before = true;
    int assigned = 0;
    for (int other : *place.factors) {
      const AxisList& axes = split.factors[other];
      assigned += axes.count;
      if (other == factor) {
        before = false;
      } else if (before) {
        int64_t parts = 1;
        for (AxisIndex axis : axes) parts *= mesh_.axis_size(axis);
        result.extends &= parts == rule.factors[other].size;
      } else {
        result.extends &= axes.empty();
      }
    }
    result.extends &= assigned == list.count;
    return result;
  }

  bool visit(OpId id, bool contractions) {
    const Op& op = graph_.ops[id];
    const FactorRule& rule = rules_[id];
    if (op.phase != Phase::forward || (!contractions && !only_passes_through(rule))) return false;
    bool changed = false;
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      if (rule.factors[f].splittable)
        changed |= spread(id, places(op, rule, static_cast<int>(f)), static_cast<int>(f), rule);
    }
    return changed;
  }

  static std::vector<Place> places(const Op& op, const FactorRule& rule, int factor) {
    std::vector<Place> found;
    auto collect = [&](const std::vector<std::vector<DimensionFactors>>& maps, const std::vector<ValueId>& values) {
      for (size_t i = 0; i < maps.size(); ++i) {
        for (size_t d = 0; d < maps[i].size(); ++d) {
          const DimensionFactors& dimension = maps[i][d];
          if (std::find(dimension.begin(), dimension.end(), factor) == dimension.end()) continue;
          found.push_back({values[i], static_cast<int>(d), &dimension});
        }
      }
    };
    collect(rule.operands, op.inputs);
    collect(rule.results, op.outputs);
    return found;
  }

  bool spread(OpId op, const std::vector<Place>& places, int factor, const FactorRule& rule) {
    AxisList wanted;
    for (const Place& place : places) {
      const AxisList list = axes_of(place, factor, rule).axes;
      if (list.count > wanted.count) wanted = list;
    }
    for (const Place& place : places) {
      const AxisList list = axes_of(place, factor, rule).axes;
      int common = 0;
      while (common < std::min(list.count, wanted.count) && list.axes[common] == wanted.axes[common]) ++common;
      if (common < list.count) {
        while (wanted.count > common) wanted.pop_back();
      }
    }
    bool changed = false;
    for (const Place& place : places) {
      if (pins_[place.value]) continue;
      Sharding& layout = layouts_[place.value];
      const FactorAxes present = axes_of(place, factor, rule);
      if (!present.extends || !wanted.starts_with(present.axes)) continue;
      int64_t parts = 1;
      for (AxisIndex axis : present.axes) parts *= mesh_.axis_size(axis);
      for (int i = present.axes.count; i < wanted.count; ++i) {
        AxisIndex axis = wanted.axes[i];
        parts *= mesh_.axis_size(axis);
        if (((layout.used_axes() >> axis) & 1) || rule.factors[factor].size % parts != 0) break;
        layout.dims[place.dim].push_back(axis);
        changed = true;
        if (observer_) observer_(place.value, place.dim, axis, op);
      }
    }
    return changed;
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const std::vector<FactorRule>& rules_;
  const std::vector<std::optional<Sharding>>& pins_;
  const PropagationObserver& observer_;
  std::vector<Sharding> layouts_;
};

}  // namespace

std::vector<Sharding> propagate(const Graph& graph, const Mesh& mesh, const std::vector<FactorRule>& rules,
                                const std::vector<std::optional<Sharding>>& pins, const PropagationObserver& observer) {
  return Propagation(graph, mesh, rules, pins, observer).run();
}

}  // namespace shardscope
