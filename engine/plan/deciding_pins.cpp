#include "engine/plan/deciding_pins.h"

#include <algorithm>

namespace shardscope {

namespace {

class Search {
 public:
  Search(const Plan& plan, const Instruction& instruction)
      : plan_(plan), graph_(*plan.graph), split_(graph_.values.size()) {
    for (const AxisIndex axis : instruction.axes()) axes_ |= 1u << axis;
    for (const ProgramValue& value : plan.program.values) {
      if (value.graph_value == no_id || (axes_of(value.sharding) & axes_) == 0) continue;
      // A stored array that is resharded for some op does not bring the axis from where it is stored.
      const bool is_stored = graph_.values[value.graph_value].kind != ValueKind::result;
      if (!is_stored || !value.moved) split_[static_cast<size_t>(value.graph_value)] = true;
    }
  }

  std::vector<std::string> run(const Instruction& instruction) {
    for (const MovedArray& array : instruction.moved()) {
      if (array.cause.user == no_id || array.cause.from < 0) continue;
      const ValueId moved = plan_.program.values[static_cast<size_t>(array.cause.from)].graph_value;
      const Op& user = graph_.ops[array.cause.user];
      if (graph_.values[moved].producer == array.cause.user) {
        add(moved);
      } else {
        for (const ValueId value : user.outputs) add(value);
        for (const ValueId value : user.inputs) add(before_casts(value));
      }
      follow(moved);
      if (places_.empty()) follow_uses(moved);
    }
    return std::move(places_);
  }

 private:
  static uint32_t axes_of(const Sharding& sharding) {
    uint32_t axes = sharding.partial;
    for (int d = 0; d < sharding.rank; ++d) {
      for (const AxisIndex axis : sharding.dims[d]) axes |= 1u << axis;
    }
    return axes;
  }

  bool is_pinned(ValueId value) const {
    return static_cast<size_t>(value) < plan_.pins.size() && !plan_.pins[static_cast<size_t>(value)].empty();
  }

  void add(ValueId value) {
    if (!is_pinned(value)) return;
    const std::string& place = plan_.pins[static_cast<size_t>(value)];
    if (std::ranges::find(places_, place) == places_.end()) places_.push_back(place);
  }

  // A parameter that is cast for its use is pinned where it is stored.
  ValueId before_casts(ValueId value) const {
    const auto is_cast = [&](OpId op) { return op != no_id && graph_.ops[op].definition->name() == "cast"; };
    while (!is_pinned(value) && is_cast(graph_.values[value].producer)) value = makers_of(value).front();
    return value;
  }

  // The nearest pinned arrays that have one of the axes, from which the ops made `value`. What made an array that is
  // pinned has no say in its layout, unless it is that array that is looked at.
  void follow(ValueId value) {
    std::vector<ValueId> open = makers_of(value);
    if (is_pinned(value) && graph_.values[value].producer == no_id) add(value);
    for (size_t next = 0; next < open.size(); ++next) {
      const ValueId at = open[next];
      if (!split_[static_cast<size_t>(at)] || seen_[static_cast<size_t>(at)]) continue;
      seen_[static_cast<size_t>(at)] = true;
      if (is_pinned(at)) {
        add(at);
        continue;
      }
      for (const ValueId maker : makers_of(at)) open.push_back(maker);
    }
  }

  // Where an axis came from arrays that are used later, as propagation brings it from a kernel to what it is multiplied
  // with: the nearest pinned ones that have it, over all ops that make or use what has it, too.
  void follow_uses(ValueId value) {
    std::vector<std::vector<OpId>> ops(graph_.values.size());  // that make or use each
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      for (const ValueId one : graph_.ops[op].inputs) ops[static_cast<size_t>(one)].push_back(static_cast<OpId>(op));
      for (const ValueId one : graph_.ops[op].outputs) ops[static_cast<size_t>(one)].push_back(static_cast<OpId>(op));
    }
    std::vector<bool> seen(graph_.values.size());
    std::vector<ValueId> nearest{value};
    seen[static_cast<size_t>(value)] = true;
    while (!nearest.empty() && places_.empty()) {
      std::vector<ValueId> next;
      const auto look_at = [&](ValueId one) {
        if (seen[static_cast<size_t>(one)] || !split_[static_cast<size_t>(one)]) return;
        seen[static_cast<size_t>(one)] = true;
        if (is_pinned(one)) add(one);
        else next.push_back(one);
      };
      for (const ValueId at : nearest) {
        for (const OpId op : ops[static_cast<size_t>(at)]) {
          for (const ValueId one : graph_.ops[op].inputs) look_at(one);
          for (const ValueId one : graph_.ops[op].outputs) look_at(one);
        }
      }
      nearest = std::move(next);
    }
  }

  std::vector<ValueId> makers_of(ValueId value) const {
    const OpId producer = graph_.values[value].producer;
    return producer == no_id ? std::vector<ValueId>() : graph_.ops[producer].inputs;
  }

  const Plan& plan_;
  const Graph& graph_;
  uint32_t axes_ = 0;
  std::vector<bool> split_;  // per graph value: it has one of the axes
  std::vector<bool> seen_ = std::vector<bool>(split_.size());
  std::vector<std::string> places_;
};

}  // namespace

std::vector<std::string> deciding_pins(const Plan& plan, const Instruction& instruction) {
  if (instruction.moved().empty() || !plan.graph) return {};
  return Search(plan, instruction).run(instruction);
}

}  // namespace shardscope
