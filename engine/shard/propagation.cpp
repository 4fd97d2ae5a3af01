#include "engine/shard/propagation.h"

#include <algorithm>

namespace shardscope {

namespace {

bool only_passes_through(const FactorRule& rule) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (const std::vector<int>& dims : rule.results) {
      if (std::find(dims.begin(), dims.end(), static_cast<int>(f)) == dims.end()) return false;
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
  };

  bool visit(OpId id, bool contractions) {
    const Op& op = graph_.ops[id];
    const FactorRule& rule = rules_[id];
    if (op.phase != Phase::forward || (!contractions && !only_passes_through(rule))) return false;
    bool changed = false;
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      if (rule.factors[f].splittable)
        changed |= spread(id, places(op, rule, static_cast<int>(f)), rule.factors[f].size);
    }
    return changed;
  }

  static std::vector<Place> places(const Op& op, const FactorRule& rule, int factor) {
    std::vector<Place> found;
    auto collect = [&](const std::vector<std::vector<int>>& maps, const std::vector<ValueId>& values) {
      for (size_t i = 0; i < maps.size(); ++i) {
        for (size_t d = 0; d < maps[i].size(); ++d) {
          if (maps[i][d] == factor) found.push_back({values[i], static_cast<int>(d)});
        }
      }
    };
    collect(rule.operands, op.inputs);
    collect(rule.results, op.outputs);
    return found;
  }

  bool spread(OpId op, const std::vector<Place>& places, int64_t size) {
    AxisList wanted;
    for (const Place& place : places) {
      const AxisList& list = layouts_[place.value].dims[place.dim];
      if (list.count > wanted.count) wanted = list;
    }
    for (const Place& place : places) {
      const AxisList& list = layouts_[place.value].dims[place.dim];
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
      AxisList& list = layout.dims[place.dim];
      if (!wanted.starts_with(list)) continue;
      for (int i = list.count; i < wanted.count; ++i) {
        AxisIndex axis = wanted.axes[i];
        int64_t parts = shard_count(layout, mesh_, place.dim) * mesh_.axis_size(axis);
        if (((layout.used_axes() >> axis) & 1) || size % parts != 0) break;
        list.push_back(axis);
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
