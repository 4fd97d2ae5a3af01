#include <algorithm>

#include "engine/compile/document_of.h"
#include "engine/compile/plan_request.h"
#include "engine/export/kinds.h"
#include "engine/machine/topology.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

namespace {

// Of a slice or node; 0: they are not all of one size.
int64_t slice_devices(const Machine& machine, int64_t devices) {
  if (devices > Mesh::max_devices) return 0;
  const Topology topology(machine.levels, static_cast<int>(devices));
  if (topology.level_count() == 0) return 0;
  const std::vector<int> sizes = topology.unit_sizes(0);
  return std::ranges::count(sizes, sizes.front()) == std::ssize(sizes) ? sizes.front() : 0;
}

// Likewise; 0 of a run that cannot be planned.
int64_t planned_slice(const ExportSource& source, const RunConfig& config) {
  const int64_t devices = config.strategy->devices();
  try {
    return slice_devices(source.plan ? source.plan->machine : plan_request(config).machine, devices);
  } catch (const Failure&) {
    return 0;
  }
}

}  // namespace

ExportKind strategy_export(const StrategyFormat& format) {
  ExportKind kind{format.name,
                  format.what +
                      ", which start the run file's strategy there; what that program cannot express is an error at "
                      "its place",
                  format.extension,
                  {},
                  false,
                  [write = format.write](const ExportSource& source, const ExportChoice&, ExportTarget& target) {
                    const RunConfig config = source.plan ? document_of(*source.plan) : source.config.value();
                    PortableStrategy portable = portable_strategy(config);
                    portable.slice_devices = planned_slice(source, config);
                    const WrittenStrategy written = write(portable);
                    target.write(written.text);
                    for (const std::string& note : written.notes) target.note(note);
                  }};
  kind.needs_plan = false;
  return kind;
}

}  // namespace shardscope
