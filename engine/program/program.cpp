#include "engine/program/program.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

std::string_view name(MemoryCategory category) {
  constexpr std::string_view names[] = {"parameters",  "gradients",   "optimizer",
                                        "activations", "collectives", "workspace"};
  return names[static_cast<int>(category)];
}

std::string_view name(StepKind kind) {
  constexpr std::string_view names[] = {"compute",        "slice",      "all-gather",        "all-reduce",
                                        "reduce-scatter", "all-to-all", "collective-permute"};
  return names[static_cast<int>(kind)];
}

void verify(const Program& program, const Graph& graph, const Mesh& mesh) {
  std::vector<bool> defined(program.values.size());
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ProgramValue& value = program.values[v];
    defined[v] = value.graph_value != no_id && graph.values[value.graph_value].kind != ValueKind::result &&
                 value.sharding.partial == 0;
    if (!divides(value.sharding, mesh, value.shape) ||
        local_shape(value.sharding, mesh, value.shape) != value.local_shape) {
      throw Failure(Error{"invalid_program", "local shape disagrees with the sharding", value.name, ""});
    }
  }
  std::vector<bool> written(program.values.size());
  for (const Step& step : program.steps) {
    for (int output : step.outputs) written[output] = true;
  }
  for (size_t v = 0; v < program.values.size(); ++v) defined[v] = defined[v] && !written[v];
  for (const Step& step : program.steps) {
    auto fail = [&](const std::string& what) { throw Failure(Error{"invalid_program", what, step.name, ""}); };
    for (int input : step.inputs) {
      if (!defined[input]) fail(fmt::format("operand {} is used before it is defined", program.values[input].name));
    }
    for (int output : step.outputs) defined[output] = true;
    if (step.kind != StepKind::compute) continue;
    const bool linear = graph.rule(step.op).linear;
    uint8_t partial = step.inputs.empty() ? 0 : program.values[step.inputs[0]].sharding.partial;
    for (int input : step.inputs) {
      uint8_t bits = program.values[input].sharding.partial;
      const bool sum = program.values[input].sharding.reduction == Reduction::sum;
      if (bits && !(linear && sum)) fail(fmt::format("operand {} is a partial sum", program.values[input].name));
      if (bits != partial) fail("some operands are partial sums and some are not");
    }
  }
}

}  // namespace shardscope
