#include "engine/shard/layout_choice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int no_axis = -1;

// One op with all its placements, reduced to layout ids and seconds.
struct OpNode {
  std::vector<Placement> placements;
  std::vector<float> seconds;              // work of one device
  std::vector<std::vector<int>> operands;  // [placement][operand] layout id
  std::vector<std::vector<int>> results;   // [placement][result] layout id
  std::vector<ValueId> touched;            // operands and results, without repeats
  int chosen = 0;
};

struct ValueNode {
  OpId producer = no_id;
  int result = 0;
  int type = 0;
  int pin = -1;    // layout id
  int start = -1;  // layout id
  std::vector<std::pair<OpId, int>> uses;
};

class LayoutSearch {
 public:
  LayoutSearch(const LayoutProblem& problem, std::stop_token stop)
      : problem_(problem), costs_(problem.mesh, problem.rates), stop_(stop) {
    build_values();
    build_ops();
    build_classes();
  }

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

  void build_values() {
    const Graph& graph = problem_.graph;
    values_.resize(graph.values.size());
    const std::vector<bool> bucketed = bucketed_values(graph, problem_.bucket_bytes);
    // Half of them are parameters, gathered together, half gradients, reduced together.
    const double share =
        2.0 / static_cast<double>(std::max<int64_t>(2, std::count(bucketed.begin(), bucketed.end(), true)));
    for (size_t v = 0; v < values_.size(); ++v) {
      values_[v].producer = graph.values[v].producer;
      values_[v].result = graph.values[v].result_index;
      values_[v].type = costs_.type_id(graph.values[v].type, bucketed[v] ? share : 1);
      if (problem_.pins[v]) values_[v].pin = values_[v].start = costs_.layout_id(*problem_.pins[v]);
      if (!problem_.start.empty() && problem_.start[v]) values_[v].start = costs_.layout_id(*problem_.start[v]);
    }
    for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
      const std::vector<ValueId>& inputs = graph.ops[op].inputs;
      for (size_t i = 0; i < inputs.size(); ++i) values_[inputs[i]].uses.emplace_back(op, static_cast<int>(i));
    }
  }

  void build_ops() {
    const Graph& graph = problem_.graph;
    std::vector<AxisIndex> order(problem_.mesh.axis_count());
    std::iota(order.begin(), order.end(), AxisIndex{0});
    for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
      const Op& op = graph.ops[id];
      const FactorRule& rule = problem_.rules[id];
      OpNode node;
      for (const Placement& placement : candidates(op, rule, order)) {
        std::vector<int> operands, results;
        for (size_t i = 0; i < op.inputs.size(); ++i) {
          operands.push_back(costs_.layout_id(operand_sharding(rule, placement, static_cast<int>(i))));
        }
        for (size_t i = 0; i < op.outputs.size(); ++i) {
          results.push_back(costs_.layout_id(result_sharding(rule, placement, static_cast<int>(i))));
        }
        node.placements.push_back(placement);
        node.operands.push_back(std::move(operands));
        node.results.push_back(std::move(results));
        node.seconds.push_back(work_seconds(op, node.operands.back(), node.results.back()));
      }
      node.touched = op.inputs;
      node.touched.insert(node.touched.end(), op.outputs.begin(), op.outputs.end());
      std::sort(node.touched.begin(), node.touched.end());
      node.touched.erase(std::unique(node.touched.begin(), node.touched.end()), node.touched.end());
      ops_.push_back(std::move(node));
    }
  }

  // A parameter update happens where the parameter lies, in whatever axis order its spec has.
  std::vector<Placement> candidates(const Op& op, const FactorRule& rule, const std::vector<AxisIndex>& order) const {
    if (!op.definition->must_be_in_place()) return legal_placements(rule, problem_.mesh, order);
    const Sharding& pinned = *problem_.pins[op.inputs[op.definition->in_place_operand(0)]];
    Placement placement;
    for (int d = 0; d < pinned.rank; ++d) placement.factors[rule.operands[0][d]] = pinned.dims[d];
    return {placement};
  }

  float work_seconds(const Op& op, const std::vector<int>& operands, const std::vector<int>& results) {
    std::vector<TensorType> operand_types, result_types;
    double bytes = 0;
    auto localise = [&](ValueId value, int layout) {
      TensorType type = problem_.graph.type(value);
      type.shape = local_shape(costs_.layout(layout), problem_.mesh, type.shape);
      bytes += static_cast<double>(type.bytes());
      return type;
    };
    for (size_t i = 0; i < operands.size(); ++i) operand_types.push_back(localise(op.inputs[i], operands[i]));
    for (size_t i = 0; i < results.size(); ++i) result_types.push_back(localise(op.outputs[i], results[i]));
    double seconds = problem_.rates.seconds_per_step + bytes * problem_.rates.seconds_per_byte;
    if (op.definition->is_matrix_product()) {
      double flops = op.definition->flops(op.attributes, operand_types, result_types);
      seconds = std::max(seconds, flops * problem_.rates.seconds_per_matrix_flop);
    }
    return static_cast<float>(seconds);
  }

  // Classes of (op, factor) that share a dimension of a value.
  void build_classes() {
    std::vector<int> parent(ops_.size() * FactorRule::max_factors);
    std::iota(parent.begin(), parent.end(), 0);
    auto find = [&](int node) {
      while (parent[node] != node) node = parent[node] = parent[parent[node]];
      return node;
    };
    const Graph& graph = problem_.graph;
    for (size_t v = 0; v < values_.size(); ++v) {
      for (size_t d = 0; d < graph.values[v].type.shape.size(); ++d) {
        int first = -1;
        auto join = [&](OpId op, const std::vector<int>& dims) {
          int node = find(op * FactorRule::max_factors + dims[d]);
          if (first < 0) first = node;
          parent[node] = find(first);
        };
        if (values_[v].producer != no_id) {
          join(values_[v].producer, problem_.rules[values_[v].producer].results[values_[v].result]);
        }
        for (auto [op, operand] : values_[v].uses) join(op, problem_.rules[op].operands[operand]);
      }
    }
    std::map<int, std::vector<std::pair<OpId, int>>> classes;
    for (OpId op = 0; op < static_cast<OpId>(ops_.size()); ++op) {
      for (size_t f = 0; f < problem_.rules[op].factors.size(); ++f) {
        int factor = static_cast<int>(f);
        classes[find(op * FactorRule::max_factors + factor)].emplace_back(op, factor);
      }
    }
    for (auto& [root, members] : classes) classes_.push_back(std::move(members));
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

  bool move_class(const std::vector<std::pair<OpId, int>>& members, AxisIndex axis, int replaced) {
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
  LayoutCosts costs_;
  std::stop_token stop_;
  std::vector<OpNode> ops_;
  std::vector<ValueNode> values_;
  std::vector<float> value_cost_;
  std::vector<std::vector<std::pair<OpId, int>>> classes_;
  std::vector<ValueId> touched_;
  std::vector<float> fresh_;
  std::vector<Move> undo_;
};

}  // namespace

std::vector<bool> bucketed_values(const Graph& graph, int64_t bucket_bytes) {
  std::vector<bool> bucketed(graph.values.size());
  for (const Parameter& parameter : graph.parameters) {
    if (graph.type(parameter.value).bytes() > bucket_bytes) continue;
    bucketed[parameter.value] = true;
    if (parameter.gradient != no_id) bucketed[parameter.gradient] = true;
  }
  return bucketed;
}

std::vector<OpChoice> choose_layouts(const LayoutProblem& problem, std::stop_token stop) {
  return LayoutSearch(problem, stop).run();
}

}  // namespace shardscope
