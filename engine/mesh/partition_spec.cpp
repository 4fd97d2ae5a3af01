#include "engine/mesh/partition_spec.h"

namespace shardscope {
namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// As Python prints a tuple, which marks a single entry by a trailing comma.
std::string tuple_text(const std::vector<std::string>& items) {
  std::string text = "(";
  for (size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + items[i];
  return text + (items.size() == 1 ? ",)" : ")");
}

std::string entry_text(const std::vector<std::string>& axes) {
  if (axes.empty()) return "None";
  if (axes.size() == 1) return quoted(axes[0]);
  std::vector<std::string> items;
  for (const std::string& axis : axes) items.push_back(quoted(axis));
  return tuple_text(items);
}

}  // namespace

std::string to_string(const PartitionSpec& spec) {
  std::vector<std::string> items;
  for (const std::vector<std::string>& axes : spec.dims) items.push_back(entry_text(axes));
  return "PartitionSpec" + tuple_text(items);
}

Sharding to_sharding(const PartitionSpec& spec, const Mesh& mesh, int rank) {
  Sharding sharding = Sharding::replicated(rank);
  if (spec.dims.size() > static_cast<size_t>(rank)) {
    throw Failure({"rank", to_string(spec) + " has more entries than the array has dimensions", "",
                   "at most " + std::to_string(rank)});
  }
  for (size_t dim = 0; dim < spec.dims.size(); ++dim) {
    for (const std::string& name : spec.dims[dim]) {
      const std::optional<AxisIndex> axis = mesh.find_axis(name);
      if (!axis) throw Failure({"unknown_axis", "the mesh has no axis " + quoted(name), "", ""});
      if (sharding.used_axes() >> *axis & 1) {
        throw Failure({"duplicate_axis", quoted(name) + " is named more than once in " + to_string(spec), "", ""});
      }
      sharding.dims[dim].push_back(*axis);
    }
  }
  return sharding;
}

PartitionSpec to_spec(const Sharding& sharding, const Mesh& mesh) {
  PartitionSpec spec;
  spec.dims.resize(sharding.rank);
  for (int dim = 0; dim < sharding.rank; ++dim) {
    for (AxisIndex axis : sharding.dims[dim]) spec.dims[dim].push_back(mesh.axes()[axis].name);
  }
  return spec;
}

}  // namespace shardscope
