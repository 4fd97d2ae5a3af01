#include "engine/worker/parameter_init.h"

#include "engine/graph/op_definition.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

StoredBytes initialize_stored(const Plan& plan, int device, const Executor& executor) {
  StoredBytes written;
  const Graph& graph = *plan.graph;
  auto initialize = [&](StateId id, int program_value) {
    const ProgramValue& value = plan.program.values.at(program_value);
    const Op& op = graph.ops.at(graph.values.at(graph.states.at(id).initial).producer);
    const std::span<std::byte> memory = executor.value(program_value);
    KernelArguments arguments;
    arguments.attributes = &op.attributes;
    arguments.outputs.push_back({memory.data(), value.dtype, value.local_shape, value.shape,
                                 shard_box(value.sharding, plan.mesh, value.shape, device).start});
    make_kernel(op.definition->name(), arguments)->run({});
    return static_cast<int64_t>(memory.size());
  };
  for (const ParameterPlan& parameter : plan.parameters) {
    written.parameters += initialize(parameter.state, parameter.value);
    size_t i = 0;
    for (size_t id = 0; id < graph.states.size(); ++id) {
      if (graph.states[id].follows != parameter.state) continue;
      written.optimizer += initialize(static_cast<StateId>(id), parameter.state_values.at(i++));
    }
  }
  return written;
}

}  // namespace shardscope
