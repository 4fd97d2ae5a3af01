#include "engine/shard/layout_choice.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/shard/choice_cost.h"

namespace shardscope {

namespace {

constexpr double least_gain = 1e-7;  // seconds
constexpr int no_axis = -1;
// Prices of a byte held, from that at which all that is held without a price is worth a hundredth of the step.
constexpr double lowest_price = 0.01, price_factor = 8;
constexpr int price_count = 7, price_bisections = 4;

// The placement with `axis` taken from where it is, so that results are partial over it.
Placement in_parts(Placement placement, AxisIndex axis) {
  for (AxisList& list : placement.factors) {
    AxisList kept;
    for (AxisIndex other : list) {
      if (other != axis) kept.push_back(other);
    }
    list = kept;
  }
  placement.partial |= static_cast<uint8_t>(1u << axis);
  return placement;
}

class LayoutSearch {
 public:
  LayoutSearch(const LayoutProblem& problem, const FitsMemory& fits, std::stop_token stop)
      : problem_(problem),
        fits_(fits),
        stop_(stop),
        tables_(problem),
        cost_(tables_, problem.prices),
        ops_(tables_.ops),
        values_(tables_.values),
        shaken_(ops_.size()),
        tried_ops_(ops_.size()) {}

  LayoutChoice run() {
    cost_.latency_share = average_latency_share();
    search();
    cost_.latency_share.reset();
    const double first_cost = search();
    if (!problem_.start.placements.empty()) {
      const std::vector<int> first = chosen();
      for (OpNode& op : ops_) {
        if (!op.fixed) op.chosen = table(op).find(problem_.start.placements[op.op]);
      }
      start_seconds_ = cost_.seconds_as_written();
      if (search() >= first_cost) choose(first);
    }
    if (stop_.stop_requested()) return {};
    check();
    LayoutChoice fastest = result();
    if (!fits_ || fits_(fastest)) return fastest;
    fastest.nothing_fits = cost_.least_bytes() > static_cast<double>(problem_.memory_limit_bytes);
    if (fastest.nothing_fits) return fastest;
    std::optional<LayoutChoice> fitting = search_at_prices();
    if (stop_.stop_requested()) return {};
    return fitting ? *std::move(fitting) : std::move(fastest);
  }

 private:
  struct Move {
    int op;
    int placement;
  };

  PlacementTable& table(const OpNode& op) { return tables_.table(op); }

  std::vector<int> chosen() const {
    std::vector<int> placements;
    for (const OpNode& op : ops_) placements.push_back(op.chosen);
    return placements;
  }

  void choose(const std::vector<int>& placements) {
    for (size_t op = 0; op < ops_.size(); ++op) ops_[op].chosen = placements[op];
    refresh_all();
  }

  // Moves from the placements chosen now to better ones; what they cost in the end.
  double search() {
    refresh_all();
    bool changed = true;
    for (int round = 0; changed && round < 8 && !stop_.stop_requested(); ++round) {
      changed = move_classes();
      changed |= move_groups();
      changed |= move_widened_sums();
      changed |= move_ops();
    }
    return seconds() + (cost_.price > 0 ? cost_.price * cost_.held_bytes(costs_) : 0);
  }

  // Half of the small arrays are parameters, gathered together, half gradients, reduced together.
  double average_latency_share() const {
    double small = 0;
    for (const ValueNode& value : values_) small += value.small * value.count;
    return 2 / std::max(2.0, small);
  }

  std::optional<LayoutChoice> search_at_prices() {
    const std::vector<int> free = chosen();
    cost_.counts_bytes = true;
    refresh_all();
    const double lowest = lowest_price * seconds() / std::max(1.0, cost_.held_bytes(costs_));
    std::optional<LayoutChoice> fastest;
    const auto fits = [&](double power) {
      cost_.price = lowest * std::pow(price_factor, power);
      choose(free);
      search();
      if (stop_.stop_requested()) return false;
      LayoutChoice choice = result();
      if (!fits_(choice)) return false;
      if (!fastest || choice.seconds < fastest->seconds) fastest = std::move(choice);
      return true;
    };
    int failing = -1, fitting = price_count - 1;
    if (!fits(fitting)) return {};
    while (fitting - failing > 1) {
      const int middle = (failing + fitting) / 2;
      (fits(middle) ? fitting : failing) = middle;
    }
    double low = failing, high = fitting;
    for (int i = 0; i < price_bisections; ++i) {
      const double middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    return fastest;
  }

  double seconds() const { return cost_.seconds(costs_); }

  void refresh_all() {
    cost_.refresh(costs_);
    std::fill(shaken_.begin(), shaken_.end(), ++clock_);
  }

  // What the moves gain (below zero) or lose, infinite where that is more than `limit`; they are kept if `keep` and it
  // is less.
  double try_moves(const std::vector<Move>& moves, double limit, bool keep) {
    double delta = 0;
    touched_.clear();
    undo_.clear();
    for (const Move& move : moves) {
      OpNode& node = ops_[move.op];
      delta += (table(node).seconds(move.placement) - table(node).seconds(node.chosen)) * node.runs;
      undo_.push_back({move.op, node.chosen});
      node.chosen = move.placement;
      touched_.insert(touched_.end(), node.touched.begin(), node.touched.end());
    }
    if (moves.size() > 1) {
      std::sort(touched_.begin(), touched_.end());
      touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    }
    fresh_.clear();
    // No cost is below zero: what these values may save yet is what they cost, and moves that cannot gain are left
    // early. Values that cost nothing come first, since they can only cost more.
    double savable = 0;
    const auto is_free = [&](int v) {
      const double most = cost_.savable(values_[v], costs_[v]);
      savable += most;
      return most == 0;
    };
    std::partition(touched_.begin(), touched_.end(), is_free);
    for (int v : touched_) {
      if (delta == infinite_cost || delta - savable > limit) break;
      savable -= cost_.savable(values_[v], costs_[v]);
      fresh_.push_back(cost_.value(values_[v]));
      delta += cost_.exchange(values_[v], costs_[v], fresh_.back());
    }
    const bool is_less = fresh_.size() == touched_.size() && delta < limit;
    if (keep && is_less) {
      ++clock_;
      for (size_t i = 0; i < touched_.size(); ++i) {
        costs_[touched_[i]] = std::move(fresh_[i]);
        const ValueNode& value = values_[touched_[i]];
        if (value.producer >= 0) shaken_[value.producer] = clock_;
        for (auto [user, operand] : value.uses) shaken_[user] = clock_;
      }
    } else {
      for (size_t i = 0; i < fresh_.size(); ++i) cost_.exchange(values_[touched_[i]], fresh_[i], costs_[touched_[i]]);
      for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) ops_[undo->op].chosen = undo->placement;
    }
    return is_less ? delta : infinite_cost;
  }

  bool gains(const std::vector<Move>& moves) {
    return !moves.empty() && try_moves(moves, -least_gain, true) < infinite_cost;
  }

  // The placement of an op with `axis` taken from where it is and put on `factor`, in the place of `replaced` if that
  // is an axis, the factor's axes in the given order; -1 when that is not legal.
  int with_axis(const OpNode& op, AxisIndex axis, int factor, int replaced, const std::vector<AxisIndex>& order) {
    const Placement& chosen = table(op).placement(op.chosen);
    const AxisList& there = chosen.factors[factor];
    if (replaced != no_axis && !there.contains(static_cast<AxisIndex>(replaced))) return -1;
    if (!table(op).rule().factors[factor].splittable) return -1;
    if (there.count == 1 && there.axes[0] == axis) return op.chosen;
    Placement placement = chosen;
    placement.partial &= static_cast<uint8_t>(~(1u << axis));
    for (size_t f = 0; f < table(op).rule().factors.size(); ++f) {
      AxisList& list = placement.factors[f];
      if (list.empty()) continue;
      AxisList kept;
      for (AxisIndex other : list) {
        if (other != axis && other != replaced) kept.push_back(other);
      }
      list = kept;
    }
    const AxisList others = placement.factors[factor];
    placement.factors[factor] = {};
    for (AxisIndex next : order) {
      if (next == axis || others.contains(next)) placement.factors[factor].push_back(next);
    }
    return table(op).find(placement);
  }

  bool move_classes() {
    bool changed = false;
    size_t slot = 0;
    for (AxisIndex axis = 0; axis < problem_.mesh.axis_count(); ++axis) {
      for (int replaced = no_axis; replaced < problem_.mesh.axis_count(); ++replaced) {
        if (replaced == axis || problem_.mesh.axis_size(axis) == 1) continue;
        for (const DimensionClass& members : tables_.dimensions) {
          for (const std::vector<AxisIndex>& order : tables_.orders) {
            if (is_news(members, tried_classes_, slot++)) changed |= move_class(members, axis, replaced, order);
          }
          if (stop_.stop_requested()) return false;
        }
      }
    }
    return changed;
  }

  // Whether anything near these ops changed since the move in this slot was last tried.
  template <class Members>
  bool is_news(const Members& members, std::vector<int64_t>& tried, size_t slot) {
    if (tried.size() <= slot) tried.resize(slot + 1);
    const bool news =
        std::ranges::any_of(members, [&](const auto& member) { return shaken_[op_of(member)] > tried[slot]; });
    tried[slot] = clock_;
    return news;
  }
  static int op_of(int op) { return op; }
  static int op_of(const std::pair<int, int>& member) { return member.first; }

  bool move_class(const DimensionClass& members, AxisIndex axis, int replaced, const std::vector<AxisIndex>& order) {
    moves_.clear();
    int last = -1;
    for (auto [op, factor] : members) {
      if (op == last || ops_[op].fixed) continue;
      int placement = with_axis(ops_[op], axis, factor, replaced, order);
      if (placement < 0) continue;
      last = op;
      if (placement != ops_[op].chosen) moves_.push_back({op, placement});
    }
    return gains(moves_);
  }

  // An op together with its gradients, by the labels that they share.
  bool move_groups() {
    bool changed = false;
    for (size_t g = 0; g < tables_.groups.size(); ++g) {
      if (!is_news(tables_.groups[g], tried_groups_, g)) continue;
      for (AxisIndex axis = 0; axis < problem_.mesh.axis_count(); ++axis) {
        if (problem_.mesh.axis_size(axis) > 1) changed |= move_group(tables_.groups[g], axis);
      }
      if (stop_.stop_requested()) return false;
    }
    return changed;
  }

  // `group` are (op, factor) pairs sorted by label.
  bool move_group(const DimensionClass& group, AxisIndex axis) {
    bool changed = false;
    for (auto first = group.begin(); first != group.end();) {
      const auto label = [&](const auto& member) {
        return table(ops_[member.first]).rule().factors[member.second].label;
      };
      const auto last =
          std::find_if(first, group.end(), [&](const auto& member) { return label(member) != label(*first); });
      for (const std::vector<AxisIndex>& order : tables_.orders) {
        moves_.clear();
        for (auto member = first; member != last; ++member) {
          const int placement = with_axis(ops_[member->first], axis, member->second, no_axis, order);
          if (placement >= 0 && placement != ops_[member->first].chosen) moves_.push_back({member->first, placement});
        }
        changed |= gains(moves_);
      }
      first = last;
    }
    return changed;
  }

  // Parts of a gradient pass through its casts and sums together, and are added up behind them.
  bool move_widened_sums() {
    bool changed = false;
    for (size_t g = 0; g < tables_.widened_sums.size(); ++g) {
      const std::vector<int>& ops = tables_.widened_sums[g];
      if (!is_news(ops, tried_sums_, g)) continue;
      for (AxisIndex axis = 0; axis < problem_.mesh.axis_count(); ++axis) {
        if (problem_.mesh.axis_size(axis) == 1) continue;
        moves_.clear();
        for (int op : ops) {
          const int placement = table(ops_[op]).find(in_parts(table(ops_[op]).placement(ops_[op].chosen), axis));
          if (placement >= 0 && placement != ops_[op].chosen) moves_.push_back({op, placement});
        }
        changed |= gains(moves_);
      }
      if (stop_.stop_requested()) return false;
    }
    return changed;
  }

  bool move_ops() {
    bool changed = false, again = true;
    for (int sweep = 0; again && sweep < 8; ++sweep) {
      again = false;
      for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
        if (ops_[op].fixed || shaken_[op] <= tried_ops_[op]) continue;
        tried_ops_[op] = clock_;
        for (int placement : table(ops_[op]).neighbours(ops_[op].chosen)) {
          if (placement != ops_[op].chosen) again |= gains({{op, placement}});
        }
        if (stop_.stop_requested()) return false;
      }
      changed |= again;
    }
    return changed;
  }

  void check() const {
    for (size_t v = 0; v < values_.size(); ++v) {
      if (costs_[v].seconds != infinite_cost) continue;
      throw Failure(Error{"no_layout", "no legal layout was found for this value",
                          at_name(problem_.graph.values[values_[v].value].name), ""});
    }
  }

  LayoutChoice result() {
    LayoutChoice choice;
    for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
      OpNode& node = ops_[op];
      OpChoice one{table(node).placement(node.chosen), {}, 0};
      const bool is_shown = node.part == TaskPart::forward || node.part == TaskPart::begin;
      if (!node.fixed && is_shown) {
        for (int placement : table(node).neighbours(node.chosen)) {
          if (placement == node.chosen) continue;
          const double margin = one.runner_up ? one.margin_seconds * node.count : infinite_cost;
          const double delta = try_moves({{op, placement}}, margin, false);
          if (delta == infinite_cost) continue;
          one.runner_up = table(node).placement(placement);
          one.margin_seconds = delta / node.count;
        }
      }
      choice.distinct.push_back(one);
    }
    choice.of_op = tables_.classes.of_op;
    choice.reshard_after_forward.resize(tables_.node_of_value.size());
    for (size_t v = 0; v < choice.reshard_after_forward.size(); ++v) {
      choice.reshard_after_forward[v] = costs_[tables_.node_of_value[v]].reshard_after_forward;
    }
    choice.seconds = seconds();
    choice.start_seconds = start_seconds_;
    return choice;
  }

  const LayoutProblem& problem_;
  const FitsMemory& fits_;
  std::stop_token stop_;
  LayoutTables tables_;
  ChoiceCost cost_;
  std::vector<OpNode>& ops_;
  const std::vector<ValueNode>& values_;
  double start_seconds_ = infinite_cost;
  std::vector<ValueCost> costs_;    // as chosen now
  int64_t clock_ = 0;               // counts the moves that were kept
  std::vector<int64_t> shaken_;     // per op: when a value that it touches last changed its cost
  std::vector<int64_t> tried_ops_;  // per op: when its moves were last tried
  std::vector<int64_t> tried_classes_, tried_groups_, tried_sums_;
  std::vector<Move> moves_;
  std::vector<int> touched_;
  std::vector<ValueCost> fresh_;
  std::vector<Move> undo_;
};

}  // namespace

LayoutChoice fixed_choice(const std::vector<Placement>& placements, size_t value_count) {
  LayoutChoice choice;
  for (const Placement& placement : placements) {
    choice.of_op.push_back(static_cast<int>(choice.distinct.size()));
    choice.distinct.push_back({placement, {}, 0});
  }
  choice.reshard_after_forward.resize(value_count);
  return choice;
}

LayoutChoice choose_layouts(const LayoutProblem& problem, const FitsMemory& fits, std::stop_token stop) {
  return LayoutSearch(problem, fits, stop).run();
}

}  // namespace shardscope
