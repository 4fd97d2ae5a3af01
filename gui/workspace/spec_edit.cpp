#include "gui/workspace/spec_edit.h"

#include <algorithm>

namespace shardscope {

std::vector<PartitionSpec> other_specs(const Plan& plan, const Shape& shape, PartitionSpec own,
                                       const std::vector<PartitionSpec>& first) {
  own.dims.resize(shape.size());
  std::vector<PartitionSpec> specs;
  const auto add = [&](PartitionSpec spec) {
    spec.dims.resize(shape.size());
    if (spec == own || std::ranges::count(specs, spec) > 0) return;
    if (check(spec, plan.mesh, shape, "").empty()) specs.push_back(std::move(spec));
  };
  for (const PartitionSpec& spec : first)
    if (spec.dims.size() <= shape.size()) add(spec);
  add({});
  for (AxisIndex axis = 0; axis < plan.mesh.axis_count(); ++axis) {
    if (plan.mesh.axis_size(axis) == 1 || plan.pipeline.axis == axis) continue;
    const std::string& name = plan.mesh.axes()[axis].name;
    PartitionSpec without = own;
    for (std::vector<std::string>& dim : without.dims) std::erase(dim, name);
    add(without);
    for (size_t d = 0; d < shape.size(); ++d) {
      PartitionSpec with = without;
      with.dims[d].push_back(name);
      add(with);
      with.dims[d] = {name};
      add(with);
    }
  }
  return specs;
}

}  // namespace shardscope
