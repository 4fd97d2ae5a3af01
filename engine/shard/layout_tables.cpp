#include "engine/shard/layout_tables.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "engine/graph/casts.h"
#include "engine/graph/counted_rows.h"
#include "engine/graph/reported_values.h"
#include "engine/shard/fixed_placement.h"
#include "engine/shard/hash_mix.h"

namespace shardscope {

namespace {

constexpr size_t few_placements = 256;

uint64_t key_of(const Placement& placement) {
  uint64_t hash = placement.partial;
  for (const AxisList& axes : placement.factors) {
    uint64_t packed = axes.count;
    for (AxisIndex axis : axes) packed = packed << 8 | axis;
    hash = mix(hash, packed);
  }
  return hash;
}

// The mesh's order, then for each pinned list that no order so far agrees with, the mesh's with that list's axes in its
// order.
std::vector<std::vector<AxisIndex>> axis_orders(const LayoutProblem& problem) {
  std::vector<AxisIndex> first(problem.mesh.axis_count());
  std::iota(first.begin(), first.end(), AxisIndex{0});
  std::vector<std::vector<AxisIndex>> orders{first};
  auto agrees = [](const std::vector<AxisIndex>& order, const AxisList& list) {
    return std::is_sorted(list.begin(), list.end(), [&](AxisIndex a, AxisIndex b) {
      return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
    });
  };
  for (const std::optional<Sharding>& pin : problem.pins) {
    if (!pin) continue;
    for (int d = 0; d < pin->rank; ++d) {
      const AxisList& list = pin->dims[d];
      if (list.count < 2 ||
          std::any_of(orders.begin(), orders.end(), [&](const auto& order) { return agrees(order, list); }))
        continue;
      std::vector<AxisIndex> order = first;
      int next = 0;
      for (AxisIndex& axis : order) {
        if (list.contains(axis)) axis = list.axes[next++];
      }
      orders.push_back(order);
    }
  }
  return orders;
}

struct IntsHash {
  size_t operator()(const std::vector<int>& ints) const {
    uint64_t hash = ints.size();
    for (int value : ints) hash = mix(hash, static_cast<uint64_t>(value));
    return hash;
  }
};

TaskPart part_of(const Op& op, bool is_of_states) {
  switch (task_phase(op.phase)) {
    case Phase::forward: return is_of_states ? TaskPart::begin : TaskPart::forward;
    case Phase::update: return TaskPart::update;
    case Phase::initialise: return TaskPart::initialise;
    default: return TaskPart::backward;
  }
}

void add_op_nodes(const LayoutProblem& problem, const OpKinds& kinds, LayoutTables& tables) {
  const Graph& graph = problem.graph;
  const std::vector<bool> of_states = ops_of_states(graph);
  for (OpId first : kinds.first) tables.tables.emplace_back(problem, tables.costs, first, tables.orders);
  for (size_t c = 0; c < tables.classes.first.size(); ++c) {
    OpNode node;
    node.op = tables.classes.first[c];
    node.count = tables.classes.size[c];
    node.table = kinds.of_op[node.op];
    const Op& op = graph.ops[node.op];
    node.part = part_of(op, of_states[node.op]);
    node.takes_scalars_alone = takes_scalars_alone(graph, node.op);
    tables.begins |= node.part == TaskPart::begin;
    if (std::optional<Placement> placement =
            fixed_placement(graph, problem.mesh, graph.rule(node.op), node.op, problem.pins)) {
      node.fixed = true;
      node.chosen = tables.tables[node.table].find(*placement);
    }
    if (op.phase == Phase::initialise) node.count = 0;  // no part of a step
    node.runs = node.count * tables.runs(node.part);
    tables.ops.push_back(std::move(node));
  }
}

// Per value its readers, one after another: (op, operand).
struct Readers {
  explicit Readers(const Graph& graph) : begin(graph.values.size() + 1) {
    for (const Op& op : graph.ops) {
      for (ValueId input : op.inputs) ++begin[input + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    all.resize(begin.back());
    std::vector<int> next(begin.begin(), begin.end() - 1);
    for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
      for (size_t i = 0; i < graph.ops[op].inputs.size(); ++i)
        all[next[graph.ops[op].inputs[i]]++] = {op, static_cast<int>(i)};
    }
  }
  std::vector<int> begin;
  std::vector<std::pair<OpId, int>> all;
};

void add_value_nodes(const LayoutProblem& problem, LayoutTables& tables) {
  const Graph& graph = problem.graph;
  const Readers readers(graph);
  const std::vector<bool> bucketed = bucketed_values(graph, problem.bucket_bytes);
  const std::vector<CountedRows> rows = counted_rows(graph);
  std::vector<bool> reported(graph.values.size());
  for (const auto& [name, value] : reported_values(graph)) reported[value] = true;
  std::unordered_map<std::vector<int>, int, IntsHash> known;
  std::vector<int> key;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    const int pin = problem.pins[v] ? tables.costs.layout_id(*problem.pins[v]) : -1;
    const std::vector<std::optional<Sharding>>& written = problem.start.defined;
    const int start_pin = written.empty() || !written[v] ? -1 : tables.costs.layout_id(*written[v]);
    const int producer = value.producer == no_id ? -1 : tables.classes.of_op[value.producer];
    const bool start_reshard_after_forward = !problem.reshard_after_forward.empty() && problem.reshard_after_forward[v];
    const int flags = bucketed[v] + 2 * reported[v] + 4 * start_reshard_after_forward;
    const auto type = [&] { return tables.costs.type_id(value.type, rows.empty() ? 1 : rows[v].share); };
    // Sources that nobody uses still take room; their type tells them apart. Of others their class does, but for rows.
    const int unlike = producer < 0 || !rows.empty() ? type() : -1;
    key = {producer, value.result_index, pin, start_pin, flags, static_cast<int>(value.kind), unlike};
    const size_t head = key.size();
    for (int r = readers.begin[v]; r < readers.begin[v + 1]; ++r) {
      const int user = tables.classes.of_op[readers.all[r].first], operand = readers.all[r].second;
      bool again = false;
      for (size_t i = head; i < key.size(); i += 2) again |= key[i] == user && key[i + 1] == operand;
      if (!again) key.push_back(user), key.push_back(operand);
    }
    auto [entry, added] = known.try_emplace(key, static_cast<int>(tables.values.size()));
    if (added) {
      ValueNode node;
      node.value = static_cast<ValueId>(v);
      node.producer = producer;
      node.result = value.result_index;
      node.type = type();
      node.pin = pin;
      node.start_pin = start_pin;
      node.start_reshard_after_forward = start_reshard_after_forward;
      node.small = bucketed[v];
      node.is_reported = reported[v];
      const bool made_of_states = producer >= 0 && tables.ops[producer].part == TaskPart::begin;
      node.is_of_step =
          made_of_states || (value.kind == ValueKind::state && (tables.begins || !problem.staged.empty()));
      for (size_t i = head; i < key.size(); i += 2) node.uses.emplace_back(key[i], key[i + 1]);
      tables.values.push_back(std::move(node));
    }
    const bool in_step = producer < 0 || tables.ops[producer].part != TaskPart::initialise;
    tables.values[entry->second].count += in_step;
    tables.node_of_value.push_back(entry->second);
  }
  for (int v = 0; v < static_cast<int>(tables.values.size()); ++v) {
    const ValueNode& value = tables.values[v];
    auto touch = [&](int op) {
      std::vector<int>& touched = tables.ops[op].touched;
      if (touched.empty() || touched.back() != v) touched.push_back(v);
    };
    if (value.producer >= 0) touch(value.producer);
    for (auto [op, operand] : value.uses) touch(op);
  }
}

std::vector<DimensionClass> dimension_classes(const LayoutProblem& problem, const LayoutTables& tables) {
  const int op_count = static_cast<int>(tables.ops.size());
  std::vector<int> parent(static_cast<size_t>(op_count) * FactorRule::max_factors);
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](int node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  auto rule = [&](int op) -> const FactorRule& { return problem.graph.rule(tables.ops[op].op); };
  for (const ValueNode& value : tables.values) {
    for (size_t d = 0; d < problem.graph.type(value.value).shape.size(); ++d) {
      int first = -1;
      auto join = [&](int op, const std::vector<DimensionFactors>& dims) {
        if (dims[d].empty()) return;
        int node = find(op * FactorRule::max_factors + dims[d][0]);
        if (first < 0) first = node;
        parent[node] = find(first);
      };
      if (value.producer >= 0) join(value.producer, rule(value.producer).results[value.result]);
      for (auto [op, operand] : value.uses) join(op, rule(op).operands[operand]);
    }
  }
  std::map<int, DimensionClass> classes;
  for (int op = 0; op < op_count; ++op) {
    for (size_t f = 0; f < rule(op).factors.size(); ++f) {
      int factor = static_cast<int>(f);
      classes[find(op * FactorRule::max_factors + factor)].emplace_back(op, factor);
    }
  }
  std::vector<DimensionClass> result;
  for (auto& [root, members] : classes) result.push_back(std::move(members));
  return result;
}

std::vector<std::vector<std::pair<int, int>>> gradient_groups(const LayoutProblem& problem,
                                                              const LayoutTables& tables) {
  std::vector<std::vector<std::pair<int, int>>> groups(tables.ops.size());
  std::vector<int> members(tables.ops.size());
  auto label = [&](const std::pair<int, int>& member) {
    return problem.graph.rule(tables.ops[member.first].op).factors[member.second].label;
  };
  for (int op = 0; op < static_cast<int>(tables.ops.size()); ++op) {
    if (tables.ops[op].fixed) continue;
    const OpId forward = problem.graph.ops[tables.ops[op].op].forward_op;
    const int group = forward == no_id ? op : tables.classes.of_op[forward];
    ++members[group];
    for (int f = 0; f < static_cast<int>(problem.graph.rule(tables.ops[op].op).factors.size()); ++f) {
      groups[group].emplace_back(op, f);
    }
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    if (members[g] < 2) groups[g].clear();
    std::stable_sort(groups[g].begin(), groups[g].end(), [&](auto& a, auto& b) { return label(a) < label(b); });
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(), [](const auto& group) { return group.empty(); }),
               groups.end());
  return groups;
}

// From an op towards what it is made of, through ops that keep every element.
void add_widened_sum(const Graph& graph, const LayoutTables& tables, OpId id, std::set<int>& ops, bool& widened) {
  const Op& op = graph.ops[id];
  const int node = tables.classes.of_op[id];
  int64_t operand = 0;
  for (ValueId input : op.inputs) operand = std::max(operand, element_count(graph.type(input).shape));
  const bool keeps = graph.rule(id).linear && operand <= element_count(graph.type(op.outputs[0]).shape);
  if (!keeps || tables.ops[node].fixed || tables.ops[node].part != TaskPart::backward) return;
  ops.insert(node);
  if (widens(graph, op)) {
    widened = true;
    return;
  }
  for (ValueId input : op.inputs) {
    if (graph.values[input].producer != no_id)
      add_widened_sum(graph, tables, graph.values[input].producer, ops, widened);
  }
}

std::vector<std::vector<int>> widened_sums(const Graph& graph, const LayoutTables& tables) {
  std::set<std::set<int>> sums;
  for (const State& state : graph.states) {
    if (state.gradient == no_id) continue;
    std::set<int> ops;
    bool widened = false;
    add_widened_sum(graph, tables, graph.values[state.gradient].producer, ops, widened);
    if (widened && ops.size() > 1) sums.insert(std::move(ops));
  }
  std::vector<std::vector<int>> result;
  for (const std::set<int>& ops : sums) result.emplace_back(ops.begin(), ops.end());
  return result;
}

}  // namespace

bool takes_scalars_alone(const Graph& graph, OpId op) {
  const std::vector<ValueId>& inputs = graph.ops[op].inputs;
  return inputs.size() > 1 &&
         std::ranges::all_of(inputs, [&](ValueId input) { return graph.type(input).shape.empty(); });
}

std::vector<bool> bucketed_values(const Graph& graph, int64_t bucket_bytes) {
  std::vector<bool> bucketed(graph.values.size());
  for (StateId id : graph.parameters()) {
    const State& state = graph.states[id];
    if (graph.type(state.before).bytes() > bucket_bytes) continue;
    bucketed[state.before] = true;
    if (state.gradient != no_id) bucketed[state.gradient] = true;
  }
  const std::vector<bool> of_states = ops_of_states(graph);
  for (size_t op = 0; op < of_states.size(); ++op) {
    if (!of_states[op]) continue;
    const bool small = std::ranges::any_of(graph.ops[op].inputs, [&](ValueId input) { return bucketed[input]; });
    for (const ValueId made : graph.ops[op].outputs) bucketed[made] = small;
  }
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (!takes_scalars_alone(graph, op)) continue;
    for (ValueId input : graph.ops[op].inputs) bucketed[input] = true;
  }
  return bucketed;
}

PlacementTable::PlacementTable(const LayoutProblem& problem, LayoutCosts& costs, OpId id,
                               const std::vector<std::vector<AxisIndex>>& orders)
    : problem_(problem), costs_(costs), rule_(problem.graph.rule(id)), orders_(orders), op_(problem.graph.ops[id]) {
  operands_ = op_.inputs.size();
  arrays_ = operands_ + op_.outputs.size();
  for (ValueId value : op_.inputs) types_.push_back(costs.type_id(problem.graph.type(value)));
  for (ValueId value : op_.outputs) types_.push_back(costs.type_id(problem.graph.type(value)));
  if (is_fixed(op_)) return;
  int split = 0;
  for (const Factor& factor : rule_.factors) split += factor.splittable;
  double many = 1;
  for (const MeshAxis& axis : problem.mesh.axes()) many *= axis.size > 1 ? split + 1 + rule_.linear : 1;
  if (many * static_cast<double>(orders.size()) > few_placements) {
    find(Placement{});
    return;
  }
  for (const std::vector<AxisIndex>& order : orders) {
    for (const Placement& placement : legal_placements(rule_, problem.mesh, order)) {
      const size_t before = placements_.size();
      const int index = find(placement);
      if (placements_.size() > before) all_.push_back(index);
    }
  }
}

int PlacementTable::find(const Placement& placement) {
  const uint64_t key = key_of(placement);
  auto [first, last] = index_.equal_range(key);
  for (; first != last; ++first) {
    if (placements_[first->second] == placement) return first->second;
  }
  return is_legal(rule_, placement, problem_.mesh) ? add(placement, key) : -1;
}

int PlacementTable::add(const Placement& placement, uint64_t key) {
  const int index = static_cast<int>(placements_.size());
  placements_.push_back(placement);
  index_.emplace(key, index);
  double bytes = 0;
  std::vector<TensorType> local;
  for (size_t i = 0; i < arrays_; ++i) {
    const Sharding sharding = i < operands_ ? operand_sharding(rule_, placement, static_cast<int>(i))
                                            : result_sharding(rule_, placement, static_cast<int>(i - operands_));
    layouts_.push_back(costs_.layout_id(sharding));
    const TensorType& type = costs_.type(types_[i]);
    local.push_back({local_shape(sharding, problem_.mesh, type.shape), type.dtype});
    bytes += costs_.local_bytes(types_[i], layouts_.back());
  }
  bytes_.push_back(bytes);
  const std::span<const TensorType> types = local;
  if (const int ring = ring_factor(rule_, placement); ring >= 0) {
    const auto payload = static_cast<double>(local.front().bytes());
    seconds_.push_back(
        problem_.prices.collective(InstructionKind::collective_permute, payload, placement.factors[ring]));
    return index;
  }
  seconds_.push_back(problem_.prices.compute(op_, types.first(operands_), types.subspan(operands_)));
  return index;
}

const std::vector<int>& PlacementTable::neighbours(int placement) {
  if (!all_.empty()) return all_;
  if (neighbours_.size() <= static_cast<size_t>(placement)) neighbours_.resize(placement + 1);
  if (neighbours_[placement].empty()) {
    std::vector<int> found = near(Placement(placements_[placement]));
    neighbours_[placement] = std::move(found);
  }
  return neighbours_[placement];
}

std::vector<int> PlacementTable::near(const Placement& placement) {
  std::vector<int> found;
  auto offer = [&](const Placement& other) {
    const int index = find(other);
    if (index >= 0 && std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
  };
  auto without = [&](AxisIndex axis) {
    Placement rest = placement;
    rest.partial &= static_cast<uint8_t>(~(1u << axis));
    for (AxisList& list : rest.factors) {
      AxisList kept;
      for (AxisIndex other : list) {
        if (other != axis) kept.push_back(other);
      }
      list = kept;
    }
    return rest;
  };
  const AxisIndex axes = static_cast<AxisIndex>(problem_.mesh.axis_count());
  for (AxisIndex axis = 0; axis < axes; ++axis) {
    if (problem_.mesh.axis_size(axis) == 1) continue;
    const Placement rest = without(axis);
    offer(rest);
    if (rule_.linear) {
      Placement other = rest;
      other.partial |= static_cast<uint8_t>(1u << axis);
      offer(other);
    }
    for (size_t f = 0; f < rule_.factors.size(); ++f) {
      if (!rule_.factors[f].splittable) continue;
      for (const std::vector<AxisIndex>& order : orders_) {
        Placement other = rest;
        other.factors[f] = {};
        for (AxisIndex next : order) {
          if (next == axis || rest.factors[f].contains(next)) other.factors[f].push_back(next);
        }
        offer(other);
      }
    }
    for (AxisIndex partner = 0; partner < axis; ++partner) {
      Placement other = placement;
      for (AxisList& list : other.factors) {
        for (int i = 0; i < list.count; ++i) {
          AxisIndex& one = list.axes[i];
          one = one == axis ? partner : one == partner ? axis : one;
        }
      }
      offer(other);
    }
  }
  return found;
}

LayoutTables::LayoutTables(const LayoutProblem& problem)
    : microbatches(static_cast<double>(problem.microbatches)),
      devices(problem.mesh.device_count()),
      stages(problem.staged.shape.stages),
      apart_from_update(problem.microbatches > 1 || !problem.staged.empty()),
      costs(problem.mesh, &problem.prices),
      orders(axis_orders(problem)) {
  const OpKinds kinds = op_kinds(problem.graph);
  classes = op_classes(problem, kinds);
  tables.reserve(kinds.first.size());
  add_op_nodes(problem, kinds, *this);
  add_value_nodes(problem, *this);
  dimensions = dimension_classes(problem, *this);
  groups = gradient_groups(problem, *this);
  widened_sums = shardscope::widened_sums(problem.graph, *this);
}

}  // namespace shardscope
