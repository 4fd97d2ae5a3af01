#include "engine/shard/layout_choice.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"
#include "engine/shard/layout_tables.h"

namespace shardscope {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int no_axis = -1;

class LayoutSearch {
 public:
  LayoutSearch(const LayoutProblem& problem, std::stop_token stop)
      : problem_(problem),
        stop_(stop),
        costs_(problem.mesh, problem.rates),
        values_(value_nodes(problem, costs_)),
        ops_(op_nodes(problem, costs_)),
        classes_(dimension_classes(problem, values_)) {}

  std::vector<OpChoice> run() {
    double best = search();
    if (!problem_.start.empty()) {
      std::vector<int> first;
      for (OpNode& op : ops_) first.push_back(op.chosen);
      for (OpId op = 0; op < static_cast<OpId>(ops_.size()); ++op) ops_[op].chosen = nearest_to_start(op);
      if (search() >= best) {
        for (size_t op = 0; op < ops_.size(); ++op) ops_[op].chosen = first[op];
        refresh_all();
      }
    }
    if (stop_.stop_requested()) return {};
    check();
    return choices();
  }

 private:
  struct Move {
    OpId op;
    int placement;
  };

  // Moves from the placements chosen now to better ones; the seconds of a step in the end.
  double search() {
    refresh_all();
    bool changed = true;
    for (int round = 0; changed && round < 8 && !stop_.stop_requested(); ++round) {
      changed = move_classes();
      changed |= move_groups();
      changed |= move_ops();
    }
    double total = 0;
    for (const OpNode& op : ops_) total += op.seconds[op.chosen];
    for (float seconds : value_cost_) total += seconds;
    return total;
  }

  // The cheapest placement of an op whose operands and results lie as the start says.
  int nearest_to_start(OpId id) {
    const Op& op = problem_.graph.ops[id];
    const OpNode& node = ops_[id];
    int nearest = 0;
    float best = infinity;
    for (int placement = 0; placement < static_cast<int>(node.placements.size()); ++placement) {
      float seconds = node.seconds[placement];
      for (size_t i = 0; i < op.inputs.size() && seconds < best; ++i) {
        const ValueNode& value = values_[op.inputs[i]];
        if (value.start >= 0) seconds += costs_.reshard_seconds(value.type, value.start, node.operands[placement][i]);
      }
      for (size_t i = 0; i < op.outputs.size() && seconds < best; ++i) {
        const ValueNode& value = values_[op.outputs[i]];
        if (value.start >= 0) seconds += costs_.reshard_seconds(value.type, node.results[placement][i], value.start);
      }
      if (seconds < best) best = seconds, nearest = placement;
    }
    return nearest;
  }

  // Seconds of bringing a value from where it is defined to every layout that its uses need.
  float value_seconds(ValueId id) {
    const ValueNode& value = values_[id];
    int made[16];
    int count = 0;
    float seconds = 0;
    if (value.producer != no_id) {
      const OpNode& op = ops_[value.producer];
      made[count] = op.results[op.chosen][value.result];
      if (value.pin >= 0) {
        seconds += costs_.reshard_seconds(value.type, made[count], value.pin);
        made[count] = value.pin;
      }
    } else {
      made[count] = value.pin;
    }
    ++count;
    for (auto [user, operand] : value.uses) {
      const OpNode& op = ops_[user];
      int needed = op.operands[op.chosen][operand];
      float best = infinity;
      for (int i = 0; i < count && best > 0; ++i)
        best = std::min(best, costs_.reshard_seconds(value.type, made[i], needed));
      if (best > 0 && count < 16) made[count++] = needed;
      seconds += best;
    }
    return seconds;
  }

  void refresh_all() {
    value_cost_.resize(values_.size());
    for (size_t v = 0; v < values_.size(); ++v) value_cost_[v] = value_seconds(static_cast<ValueId>(v));
  }

  int find_placement(OpId op, const Placement& placement) const {
    const std::vector<Placement>& all = ops_[op].placements;
    auto found = std::find(all.begin(), all.end(), placement);
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
  }

  // Seconds gained or lost by the moves; they are kept if `keep` and it is a gain.
  double try_moves(const std::vector<Move>& moves, bool keep = true) {
    double delta = 0;
    touched_.clear();
    undo_.clear();
    for (const Move& move : moves) {
      OpNode& node = ops_[move.op];
      delta += node.seconds[move.placement] - node.seconds[node.chosen];
      undo_.push_back({move.op, node.chosen});
      node.chosen = move.placement;
      touched_.insert(touched_.end(), node.touched.begin(), node.touched.end());
    }
    if (moves.size() > 1) {
      std::sort(touched_.begin(), touched_.end());
      touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    }
    fresh_.clear();
    for (ValueId value : touched_) {
      float seconds = value_seconds(value);
      fresh_.push_back(seconds);
      if (seconds == infinity && value_cost_[value] == infinity) continue;
      delta += static_cast<double>(seconds) - static_cast<double>(value_cost_[value]);
    }
    bool gain = delta < -1e-7;
    if (keep && gain) {
      for (size_t i = 0; i < touched_.size(); ++i) value_cost_[touched_[i]] = fresh_[i];
    } else {
      for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) ops_[undo->op].chosen = undo->placement;
    }
    return delta;
  }

  // The placement of `op` with `axis` taken from where it is and put on `factor`, in the place of `replaced` if that is
  // an axis; -1 when that is not legal.
  int with_axis(OpId op, AxisIndex axis, int factor, int replaced = no_axis) const {
    Placement placement = ops_[op].placements[ops_[op].chosen];
    if (replaced != no_axis && !placement.factors[factor].contains(static_cast<AxisIndex>(replaced))) return -1;
    placement.partial &= static_cast<uint8_t>(~(1u << axis));
    for (AxisList& list : placement.factors) {
      AxisList kept;
      for (AxisIndex other : list) {
        if (other != axis && other != replaced) kept.push_back(other);
      }
      list = kept;
    }
    AxisList list;
    bool placed = false;
    for (AxisIndex other : placement.factors[factor]) {
      if (!placed && other > axis) list.push_back(axis), placed = true;
      list.push_back(other);
    }
    if (!placed) list.push_back(axis);
    placement.factors[factor] = list;
    return find_placement(op, placement);
  }

  bool move_classes() {
    bool changed = false;
    for (AxisIndex axis = 0; axis < problem_.mesh.axis_count(); ++axis) {
      for (int replaced = no_axis; replaced < problem_.mesh.axis_count(); ++replaced) {
        if (replaced == axis || problem_.mesh.axis_size(axis) == 1) continue;
        for (const auto& members : classes_) changed |= move_class(members, axis, replaced);
        if (stop_.stop_requested()) return false;
      }
    }
    return changed;
  }

  bool move_class(const DimensionClass& members, AxisIndex axis, int replaced) {
    std::vector<Move> moves;
    OpId last = no_id;
    for (auto [op, factor] : members) {
      if (op == last || ops_[op].placements.size() == 1) continue;
      int placement = with_axis(op, axis, factor, replaced);
      if (placement < 0) continue;
      last = op;
      if (placement != ops_[op].chosen) moves.push_back({op, placement});
    }
    return !moves.empty() && try_moves(moves) < -1e-7;
  }

  // An op together with its gradients, by the labels that they share.
  bool move_groups() {
    const Graph& graph = problem_.graph;
    std::vector<std::vector<OpId>> groups(ops_.size());
    for (OpId op = 0; op < static_cast<OpId>(ops_.size()); ++op) {
      OpId forward = graph.ops[op].forward_op;
      if (ops_[op].placements.size() > 1) groups[forward == no_id ? op : forward].push_back(op);
    }
    bool changed = false;
    for (const std::vector<OpId>& group : groups) {
      if (group.size() < 2) continue;
      for (AxisIndex axis = 0; axis < problem_.mesh.axis_count(); ++axis) {
        if (problem_.mesh.axis_size(axis) == 1) continue;
        for (const Factor& wanted : problem_.rules[group[0]].factors) {
          std::vector<Move> moves;
          for (OpId op : group) {
            const std::vector<Factor>& factors = problem_.rules[op].factors;
            for (size_t f = 0; f < factors.size(); ++f) {
              if (factors[f].label != wanted.label) continue;
              int placement = with_axis(op, axis, static_cast<int>(f));
              if (placement >= 0 && placement != ops_[op].chosen) moves.push_back({op, placement});
            }
          }
          if (!moves.empty()) changed |= try_moves(moves) < -1e-7;
        }
      }
    }
    return changed;
  }

  bool move_ops() {
    bool changed = false, again = true;
    for (int sweep = 0; again && sweep < 8; ++sweep) {
      again = false;
      for (OpId op = 0; op < static_cast<OpId>(ops_.size()); ++op) {
        int count = static_cast<int>(ops_[op].placements.size());
        for (int placement = 0; placement < count; ++placement) {
          if (placement != ops_[op].chosen) again |= try_moves({{op, placement}}) < -1e-7;
        }
      }
      changed |= again;
      if (stop_.stop_requested()) return false;
    }
    return changed;
  }

  void check() const {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (value_cost_[v] != infinity) continue;
      throw Failure(Error{"no_layout", "no legal layout was found for this value", problem_.graph.values[v].name, ""});
    }
  }

  std::vector<OpChoice> choices() {
    std::vector<OpChoice> result;
    for (OpId op = 0; op < static_cast<OpId>(ops_.size()); ++op) {
      OpNode& node = ops_[op];
      OpChoice choice{node.placements[node.chosen], {}, 0};
      for (int placement = 0; placement < static_cast<int>(node.placements.size()); ++placement) {
        if (placement == node.chosen) continue;
        double delta = try_moves({{op, placement}}, false);
        if (delta < infinity && (!choice.runner_up || delta < choice.margin_seconds)) {
          choice.runner_up = node.placements[placement];
          choice.margin_seconds = delta;
        }
      }
      result.push_back(choice);
    }
    return result;
  }

  const LayoutProblem& problem_;
  std::stop_token stop_;
  LayoutCosts costs_;
  std::vector<ValueNode> values_;
  std::vector<OpNode> ops_;
  std::vector<DimensionClass> classes_;
  std::vector<float> value_cost_;  // seconds of each value's reshards, as chosen now
  std::vector<ValueId> touched_;
  std::vector<float> fresh_;
  std::vector<Move> undo_;
};

}  // namespace

std::vector<OpChoice> choose_layouts(const LayoutProblem& problem, std::stop_token stop) {
  return LayoutSearch(problem, stop).run();
}

}  // namespace shardscope
