#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/export/exported_arrays.h"
#include "engine/export/kinds.h"

namespace shardscope {

namespace {

nlohmann::ordered_json spec_json(const Sharding& sharding, const Mesh& mesh) {
  nlohmann::ordered_json dims = nlohmann::ordered_json::array();
  for (const std::vector<std::string>& axes : to_spec(sharding, mesh).dims) {
    if (axes.empty()) dims.push_back(nullptr);
    else if (axes.size() == 1) dims.push_back(axes.front());
    else dims.push_back(axes);
  }
  return dims;
}

// A line for each array.
void write_specs(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  const Plan& plan = *source.plan;
  int count = 0;
  for (const ExportedArray& array : exported_arrays(plan)) {
    if (array.kind == ExportedArray::Kind::activation && !array.is_set) continue;
    Sharding whole = array.sharding;
    whole.partial = 0;
    target.write(fmt::format("{} {}: {}", count++ == 0 ? "{\n" : ",\n", nlohmann::json(array.name).dump(),
                             spec_json(whole, plan.mesh).dump()));
  }
  target.write(count == 0 ? "{}\n" : "\n}\n");
  target.note(fmt::format("{} arrays", count));
}

}  // namespace

ExportKind specs_export() {
  return {"specs", "JSON of {path: spec}: where parameters, optimizer state, inputs and constraints lie",
          "json",  {},
          false,   write_specs};
}

}  // namespace shardscope
