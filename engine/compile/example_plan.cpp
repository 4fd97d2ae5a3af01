#include "engine/compile/example_plan.h"

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/data/data_kind.h"

namespace shardscope {

Plan example_plan(const std::string& run_file, const Machine& machine) {
  RunConfig config = parse_run_config(run_file, "");
  config.optimizer = {};
  config.sharding = {};  // rules may speak of the optimizer's state
  config.deterministic = true;
  config.schedule = {};
  config.pipeline = {};
  config.mesh_devices.clear();
  for (MeshAxis& axis : config.mesh_axes) axis.size = 1;
  std::erase_if(config.data.options, [](const auto& option) { return option.first == "batch_size"; });
  config.data.options.emplace_back("batch_size", find_data_kind(config.data.name)->examples);
  return compile({std::move(config), machine});
}

}  // namespace shardscope
