#include "engine/graph/rematerialise.h"

namespace shardscope {

namespace {

class Rematerialisation {
 public:
  Rematerialisation(Graph& graph, const std::vector<bool>& again)
      : graph_(graph), again_(again), clone_(graph.ops.size(), no_id) {}

  void run() {
    const auto count = static_cast<OpId>(clone_.size());
    for (OpId id = 0; id < count; ++id) {
      if (graph_.ops[id].phase == Phase::backward) graph_.ops[id].inputs = made_again(graph_.ops[id].inputs);
      order_.push_back(id);
    }
    graph_.reorder(order_);
  }

 private:
  std::vector<ValueId> made_again(std::vector<ValueId> values) {
    for (ValueId& value : values) {
      if (value >= static_cast<ValueId>(again_.size()) || !again_[value]) continue;
      value = graph_.ops[clone_of(graph_.values[value].producer)].outputs[graph_.values[value].result_index];
    }
    return values;
  }

  OpId clone_of(OpId id) {
    if (clone_[id] != no_id) return clone_[id];
    std::vector<ValueId> inputs = made_again(graph_.ops[id].inputs);
    const Op original = graph_.ops[id];
    const OpId clone = graph_.add_op(*original.definition, original.name + "/recompute", Phase::recompute,
                                     std::move(inputs), original.attributes, id);
    for (size_t i = 0; i < original.outputs.size(); ++i) {
      Value& value = graph_.values[graph_.ops[clone].outputs[i]];
      value.again_of = original.outputs[i];
      value.logical = graph_.values[original.outputs[i]].logical;
    }
    order_.push_back(clone);
    return clone_[id] = clone;
  }

  Graph& graph_;
  const std::vector<bool>& again_;  // per value that was there
  std::vector<OpId> clone_;         // per op that was there
  std::vector<OpId> order_;
};

}  // namespace

void rematerialise(Graph& graph, const std::vector<bool>& again) { Rematerialisation(graph, again).run(); }

}  // namespace shardscope
