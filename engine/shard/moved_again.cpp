#include "engine/shard/moved_again.h"

#include <algorithm>

#include "engine/shard/layout_cost.h"

namespace shardscope {

namespace {

class Moves {
 public:
  Moves(const Graph& graph, const Mesh& mesh, const WrittenPlacements& written, const std::vector<bool>& given_up)
      : graph_(graph), written_(written), given_up_(given_up), costs_(mesh), readers_(graph.values.size()) {
    for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
      for (size_t i = 0; i < graph.ops[op].inputs.size(); ++i) {
        readers_[graph.ops[op].inputs[i]].push_back({op, static_cast<int>(i)});
      }
    }
  }

  bool of(OpId id) {
    const Op& op = graph_.ops[id];
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!reaches(op.inputs[i], operand(id, static_cast<int>(i)))) return true;
    }
    return std::ranges::any_of(op.outputs, [&](ValueId output) {
      if (communicates(output, made(output), defined(output))) return true;
      return std::ranges::any_of(readers_[output], [&](const Reader& reader) {
        return communicates(output, defined(output), operand(reader.op, reader.operand));
      });
    });
  }

 private:
  struct Reader {
    OpId op;
    int operand;
  };

  Sharding operand(OpId op, int i) const { return operand_sharding(graph_.rule(op), written_.placements[op], i); }
  Sharding made(ValueId value) const {
    const OpId producer = graph_.values[value].producer;
    return result_sharding(graph_.rule(producer), written_.placements[producer], graph_.values[value].result_index);
  }
  Sharding defined(ValueId value) const { return written_.defined[value] ? *written_.defined[value] : made(value); }

  bool communicates(ValueId value, const Sharding& from, const Sharding& to) {
    return costs_.reshard(costs_.type_id(graph_.type(value)), costs_.layout_id(from), costs_.layout_id(to)).wire_bytes >
           0;
  }

  // Without communication, from where the value is defined or from a layout that another op needs. A recomputed operand
  // is judged where it is made.
  bool reaches(ValueId value, const Sharding& needed) {
    if (graph_.values[value].again_of != no_id || !communicates(value, defined(value), needed)) return true;
    const Phase brought = !given_up_.empty() && given_up_[value] ? Phase::backward : Phase::forward;
    return std::ranges::any_of(readers_[value], [&](const Reader& reader) {
      return graph_.ops[reader.op].phase == brought && !communicates(value, operand(reader.op, reader.operand), needed);
    });
  }

  const Graph& graph_;
  const WrittenPlacements& written_;
  const std::vector<bool>& given_up_;
  LayoutCosts costs_;
  std::vector<std::vector<Reader>> readers_;
};

}  // namespace

std::vector<OpId> moved_again(const Graph& graph, const Mesh& mesh, const WrittenPlacements& written,
                              const std::vector<bool>& given_up) {
  Moves moves(graph, mesh, written, given_up);
  std::vector<OpId> moved;
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    if (graph.ops[id].phase == Phase::recompute && moves.of(id)) moved.push_back(graph.ops[id].forward_op);
  }
  return moved;
}

}  // namespace shardscope
