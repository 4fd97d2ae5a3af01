#include <fmt/format.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

// Names that models give to the dimensions of queries, and of keys and values.
constexpr const char* query_names[] = {"heads", "query_heads"};
constexpr const char* key_names[] = {"kv_heads", "key_heads"};

// How many there are of them, and over which axes some array splits them. Of activations alone: a weight may have heads
// and their features in one dimension.
struct Heads {
  int64_t count = 0;
  uint8_t axes = 0;
};

Heads heads_called(const Plan& plan, std::span<const char* const> names) {
  Heads heads;
  for (const ValueLayout& layout : plan.layouts) {
    const std::vector<std::string>& logical = plan.graph->values[static_cast<size_t>(layout.value)].logical;
    for (size_t dim = 0; dim < logical.size() && dim < layout.shape.size(); ++dim) {
      if (std::ranges::find(names, logical[dim]) == names.end()) continue;
      heads.count = heads.count == 0 ? layout.shape[dim] : std::min(heads.count, layout.shape[dim]);
      for (const AxisIndex axis : layout.sharding.dims[dim]) heads.axes |= static_cast<uint8_t>(1 << axis);
    }
  }
  return heads;
}

std::vector<Fault> few_kv_heads_faults(const LintSubject& subject) {
  const Heads queries = heads_called(subject.plan, query_names), keys = heads_called(subject.plan, key_names);
  if (keys.count == 0) return {};
  std::vector<Fault> faults;
  for (const AxisUse& axis : subject.axes) {
    if (!(queries.axes >> axis.axis & 1) || keys.axes >> axis.axis & 1 || axis.splits_rows) continue;
    if (axis.size == 1 || keys.count % axis.size == 0) continue;
    Fault fault;
    fault.place = fmt::format("mesh.axes[{}]", axis.axis);
    fault.message = fmt::format(
        "axis '{}' splits {} query heads over {}, and {} key and value heads do not "
        "divide: each device computes and keeps all of them",
        axis.name, queries.count, counted(axis.size, "device"), keys.count);
    for (Settings& moved : moved_to_rows(subject, axis.axis)) fault.fixes.push_back(std::move(moved));
    fault.no_fix = fmt::format("{} or fewer devices along '{}'", keys.count, axis.name);
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

LintRule few_kv_heads_rule() {
  return {"few_kv_heads", "fewer key and value heads than devices that split the query heads", true,
          few_kv_heads_faults};
}

}  // namespace shardscope
