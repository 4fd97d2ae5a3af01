#include "engine/worker/parameter_file.h"

#include <algorithm>

#include "engine/base/path.h"

namespace shardscope {

SafetensorsLayout parameter_layout(const Plan& plan) {
  std::vector<NamedArray> arrays;
  for (const ParameterPlan& parameter : plan.parameters) {
    arrays.push_back({join_path(parameter.path), {parameter.shape, parameter.dtype}});
  }
  return SafetensorsLayout(std::move(arrays));
}

ParameterFile::ParameterFile(const Plan& plan, int device, const std::string& path)
    : plan_(plan), device_(device), file_(path, parameter_layout(plan)) {}

void ParameterFile::write(const Executor& executor, Communicator& world) const {
  for (size_t i = 0; i < plan_.parameters.size(); ++i) {
    const ParameterPlan& parameter = plan_.parameters[i];
    const ProgramValue& value = plan_.program.values.at(parameter.value);
    const Sharding& sharding = value.sharding;
    if (value.stage != executor.stage()) continue;
    const auto on_stage = [&](int device) { return plan_.stage_of(device) == value.stage; };
    const std::vector<int> holders = replicas(sharding, plan_.mesh, parameter.shape, device_);
    if (*std::ranges::find_if(holders, on_stage) != device_) continue;
    file_.write(i, shard_box(sharding, plan_.mesh, parameter.shape, device_), executor.value(parameter.value));
  }
  world.barrier();
  if (world.rank() == 0) file_.write_header();
}

}  // namespace shardscope
