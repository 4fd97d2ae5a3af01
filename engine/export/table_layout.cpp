#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/sharded_arrays.h"
#include "engine/export/table_pages.h"
#include "engine/plan/value_stages.h"

namespace shardscope {

namespace {

// How each array is sharded: parameters, optimizer state, inputs, results of the forward pass.
void write_layout_table(const ExportSource& source, const ExportChoice&, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"array", "kind", "shape", "dtype", "layout", "local_shape", "shards", "copies", "stages",
                  "bytes_per_device", "bytes", "why"});
  const std::vector<ShardedArray> arrays = sharded_arrays(plan);
  for (const ShardedArray& array : arrays) {
    table.progress(static_cast<double>(table.rows()), static_cast<double>(arrays.size()));
    const Shape local = local_shape(array.sharding, plan.mesh, array.shape);
    const int64_t shards = shard_count(array.sharding, plan.mesh);
    table.row(array.name, name(array.kind), to_string(array.shape), name(array.dtype),
              to_string(array.sharding, plan.mesh), to_string(local), shards,
              std::ssize(devices_of_stages(plan, array.stages)) / shards,
              fmt::format("{}", fmt::join(array.stages, ",")), element_count(local) * byte_size(array.dtype),
              element_count(array.shape) * byte_size(array.dtype), array.why);
  }
}

}  // namespace

TablePage layout_table() { return {"layout", write_layout_table}; }

}  // namespace shardscope
