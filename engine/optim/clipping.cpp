#include "engine/optim/clipping.h"

#include "engine/ops/cast.h"
#include "engine/ops/global_norm.h"
#include "engine/ops/registry.h"

namespace shardscope {

OptionDefinition clipping_option() {
  return {"clip_by_global_norm",
          0.0,
          false,
          0,
          1e12,
          "largest norm of all gradients together, to which longer ones are scaled; 0: any"};
}

std::vector<ValueId> clipped_gradients(Graph& graph, const OptionList& options) {
  const auto append = [&](const char* op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes) {
    const OpId id = graph.add_op(op_definition(op), name, Phase::update, std::move(inputs), std::move(attributes));
    return graph.ops[id].outputs[0];
  };
  const std::vector<StateId> trained = graph.trainable();
  std::vector<ValueId> gradients, sums;
  for (StateId id : trained) gradients.push_back(graph.states[id].gradient);
  const double max_norm = real_option(options, "clip_by_global_norm");
  if (max_norm == 0 || trained.empty()) return gradients;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (graph.type(gradients[i]).dtype == DType::f32) continue;
    const std::string& name = graph.name(graph.states[trained[i]]);
    gradients[i] = append("cast", name + "/widen", {gradients[i]}, CastAttributes{DType::f32});
  }
  for (size_t i = 0; i < trained.size(); ++i) {
    const std::string& name = graph.name(graph.states[trained[i]]);
    sums.push_back(append("sum_of_squares", name + "/sum_of_squares", {gradients[i]}, {}));
  }
  const ValueId norm = append("global_norm", "global_norm", sums, {});
  for (size_t i = 0; i < trained.size(); ++i) {
    const std::string& name = graph.name(graph.states[trained[i]]);
    gradients[i] = append("clip_by_global_norm", name + "/clip", {gradients[i], norm}, ClipAttributes{max_norm});
  }
  return gradients;
}

}  // namespace shardscope
