#include <fmt/format.h>

#include "engine/base/plural.h"
#include "engine/export/kinds.h"
#include "engine/export/sharded_arrays.h"
#include "engine/plan/value_stages.h"
#include "viz/text/visualize.h"

namespace shardscope {

namespace {

void write_layouts(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  const Plan& plan = *source.plan;
  int count = 0;
  const std::vector<ShardedArray> arrays = given_arrays(plan);
  for (const ShardedArray& array : arrays) {
    target.progress(count / static_cast<double>(arrays.size()));
    target.write(
        fmt::format("{}{} {} {}\n{}", count++ == 0 ? "" : "\n", array.name, name(array.dtype), to_string(array.shape),
                    visualize_sharding(array.sharding, plan.mesh, array.shape, devices_of_stages(plan, array.stages))));
  }
  target.note(counted(count, "array"));
}

}  // namespace

ExportKind layout_export() {
  return {"layout",     "how each array is sharded over the devices, drawn as JAX prints it", "txt", {}, false,
          write_layouts};
}

}  // namespace shardscope
