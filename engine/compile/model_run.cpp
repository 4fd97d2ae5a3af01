#include "engine/compile/model_run.h"

#include <algorithm>

#include "engine/compile/training_graph.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

// Whether parts of this number of equal size are legal for what the model axis splits.
bool divides(const Graph& graph, int64_t parts) {
  for (const Value& value : graph.values) {
    for (size_t d = 0; d < value.logical.size(); ++d) {
      const std::string& name = value.logical[d];
      const bool split = name == "heads" || name == "kv_heads" || name == "mlp";
      if (split && value.type.shape[d] % parts != 0) return false;
    }
  }
  return true;
}

}  // namespace

RunConfig run_of_model(const std::string& path, int64_t devices, const TextList& ignore) {
  RunConfig config;
  config.model = {"huggingface", {{"path", path}}};
  if (!ignore.empty()) config.model.options.emplace_back("ignore", ignore);
  config.mesh_axes = {{"data", 1}, {"model", 1}};
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data"}, {}}};
  SpecRule rule;
  rule.placement =
      LogicalAxes{{{"mlp", {"model"}}, {"heads", {"model"}}, {"kv_heads", {"model"}}, {"vocab", {"model"}}}};
  config.sharding.rules = {rule};
  config.data = {"synthetic_lm", {{"batch_size", devices}, {"seed", int64_t{0}}}};
  config.optimizer = {"adamw", {{"learning_rate", 1e-3}}};
  const ForwardGraph forward = build_forward(config);
  if (!forward.run.errors.empty()) throw Failure(forward.run.errors);
  int64_t model = 1;
  while (model < 8 && devices % (2 * model) == 0 && divides(*forward.graph, 2 * model)) model *= 2;
  config.mesh_axes = {{"data", devices / model}, {"model", model}};
  return config;
}

}  // namespace shardscope
