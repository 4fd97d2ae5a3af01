#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/compile/document_of.h"
#include "engine/compile/layer_count.h"
#include "engine/compile/plan_request.h"
#include "engine/export/kinds.h"
#include "engine/machine/topology.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

namespace {

// What a plan has beside its strategy: devices of a slice or node, and layers of each model chunk.
struct PlannedCut {
  int64_t slice_devices = 0;  // 0: they are not all of one size
  std::vector<int> layers;    // empty: one stage
};

int64_t slice_devices(const Machine& machine, int64_t devices) {
  if (devices > Mesh::max_devices) return 0;
  const Topology topology(machine.levels, static_cast<int>(devices));
  if (topology.level_count() == 0) return 0;
  const std::vector<int> sizes = topology.unit_sizes(0);
  return std::ranges::count(sizes, sizes.front()) == std::ssize(sizes) ? sizes.front() : 0;
}

// Nothing of a run that cannot be planned.
PlannedCut planned_cut(const ExportSource& source, const RunConfig& config) {
  const int64_t devices = config.strategy->devices();
  if (source.plan) return {slice_devices(source.plan->machine, devices), source.plan->pipeline.layers};
  try {
    const PlanRequest request = plan_request(config);
    return {slice_devices(request.machine, devices),
            config.strategy->pipeline > 1 ? layers_of_chunks(request) : std::vector<int>{}};
  } catch (const Failure&) {
    return {};
  }
}

// The other program cuts by a rule of its own: where a person says another cut, it cannot be said there; where the plan
// has one, it is noted.
void compare_cuts(const RunConfig& config, const PlannedCut& planned, WrittenStrategy& written) {
  if (written.layers.empty()) return;
  const std::string there = fmt::format("[{}]", fmt::join(written.layers, ", "));
  const std::vector<int64_t>& said = config.pipeline.layers;
  if (!said.empty() && said != written.layers) {
    throw Failure(Error{"unsaid", "other programs cut layers into stages by rules of their own", "pipeline.layers",
                        "leave it out, or " + there});
  }
  if (planned.layers.empty() || std::ranges::equal(planned.layers, written.layers)) return;
  written.notes.push_back(fmt::format("layers of stages there {}, in the plan [{}] (for the same: pipeline.layers {})",
                                      there, fmt::join(planned.layers, ", "), there));
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
                    const PlannedCut planned = planned_cut(source, config);
                    portable.slice_devices = planned.slice_devices;
                    WrittenStrategy written = write(portable);
                    compare_cuts(config, planned, written);
                    target.write(written.text);
                    for (const std::string& note : written.notes) target.note(note);
                  }};
  kind.needs_plan = false;
  return kind;
}

}  // namespace shardscope
