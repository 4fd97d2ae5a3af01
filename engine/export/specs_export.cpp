#include <fmt/format.h>

#include "engine/base/plural.h"
#include "engine/export/kinds.h"
#include "engine/export/sharded_arrays.h"
#include "engine/export/spec_json.h"

namespace shardscope {

namespace {

// A line for each array.
void write_specs(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  const Plan& plan = *source.plan;
  int count = 0;
  const std::vector<ShardedArray> arrays = given_arrays(plan);
  for (const ShardedArray& array : arrays) {
    target.progress(count / static_cast<double>(arrays.size()));
    Sharding whole = array.sharding;
    whole.partial = 0;
    target.write(fmt::format("{} {}: {}", count++ == 0 ? "{\n" : ",\n", nlohmann::json(array.name).dump(),
                             spec_json(to_spec(whole, plan.mesh)).dump()));
  }
  target.write(count == 0 ? "{}\n" : "\n}\n");
  target.note(counted(count, "array"));
}

}  // namespace

ExportKind specs_export() {
  return {"specs", "JSON of {path: spec}: where parameters, optimizer state, inputs and constraints lie",
          "json",  {},
          false,   write_specs};
}

}  // namespace shardscope
