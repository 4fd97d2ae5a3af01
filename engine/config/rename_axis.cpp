#include "engine/config/rename_axis.h"

#include <algorithm>

namespace shardscope {
namespace {

struct Renaming {
  const std::string& from;
  const std::string& to;

  void operator()(std::vector<std::string>& axes) const { std::replace(axes.begin(), axes.end(), from, to); }
  void operator()(PartitionSpec& spec) const {
    for (std::vector<std::string>& axes : spec.dims) (*this)(axes);
  }
  void operator()(LogicalAxes& logical) const {
    for (auto& [name, axes] : logical.axes) (*this)(axes);
  }
  void operator()(LargestDimension& largest) const { (*this)(largest.axes); }
};

}  // namespace

RunConfig rename_axis(const RunConfig& config, const std::string& from, const std::string& to) {
  RunConfig result = config;
  const Renaming rename{from, to};
  for (MeshAxis& axis : result.mesh_axes) {
    if (axis.name == from) axis.name = to;
  }
  ShardingConfig& sharding = result.sharding;
  rename(sharding.in);
  rename(sharding.out);
  for (ParameterSpec& parameter : sharding.parameters) rename(parameter.spec);
  for (Constraint& constraint : sharding.constraints) rename(constraint.spec);
  for (SpecRule& rule : sharding.rules) std::visit(rename, rule.placement);
  rename(sharding.zero.axes);
  rename(sharding.keep);
  if (result.pipeline.axis == from) result.pipeline.axis = to;
  return result;
}

}  // namespace shardscope
