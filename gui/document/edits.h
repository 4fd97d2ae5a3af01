#pragma once

#include <QString>
#include <optional>

#include "engine/machine/chosen_machine.h"
#include "gui/document/array_ref.h"
#include "gui/document/document.h"

namespace shardscope {

// The edits of the window, each one undoable step with a readable name. An edit that would change nothing leaves no
// trace. Illegal values are let through: planning names what is wrong, at the field.

void set_axis_size(Document& document, int axis, int64_t size);  // successive ones of an axis merge
// `before`: by what name each axis went until now, empty for a new one; left out, all keep theirs. Specs, constraints
// and rules follow an axis to its new name; those of a removed axis "data" whose name another one takes name
// "data (removed)", which planning marks.
// `devices`: their order from then on; left out, it is kept where their number is.
// `hosts`: on which they lie, and what joins these; left out, as before.
struct HostsEdit {
  std::string hosts;  // as in the run file; empty: this host alone, and no network
  NetworkChoice network;
};
void set_mesh_axes(Document& document, std::vector<MeshAxis> axes, const std::vector<std::string>& before = {},
                   const std::optional<std::vector<int>>& devices = {}, const std::optional<HostsEdit>& hosts = {});
// The config on a mesh of other axes, as both edits make it.
RunConfig with_mesh_axes(RunConfig config, std::vector<MeshAxis> axes);
// Whether the config orders its devices in a way that a mesh of these axes cannot keep: both edits keep the order while
// the number of devices stays, else it goes back to 0..n-1 and the document tells so.
bool loses_device_order(const RunConfig& config, const std::vector<MeshAxis>& axes);

// The axes that split dimension `dim` of an array that has a spec (see array_ref.h), major to minor. A parameter that
// the file did not name is added to it.
void set_spec_dim(Document& document, const ArrayRef& array, int rank, int dim, const std::vector<std::string>& axes);
// The same for an array whose other dimensions are as `before` says, by a rule perhaps.
void set_spec_dim(Document& document, const ArrayRef& array, PartitionSpec before, int rank, int dim,
                  const std::vector<std::string>& axes);
// Into a config that is about to be an edit. Of an array that has a spec.
void put_spec(RunConfig& config, const ArrayRef& array, PartitionSpec spec);
// The spec of the array as the config says it; empty where it is not named.
PartitionSpec spec_of(const RunConfig& config, const ArrayRef& array);
// The place of that spec in the run file, as errors name it; empty where the array has none.
QString place_of(const ArrayRef& array);

// Everything as another config has it: a plan that was kept.
void take_config(Document& document, const RunConfig& config, const QString& name);
// Another strategy, or a first one in place of mesh and sharding (engine/config/strategy.h); successive edits of a key
// merge.
void set_strategy(Document& document, StrategyConfig strategy, const QString& key);
// A first strategy, whose degrees are the sizes of the mesh's axes of the same or a like name.
void begin_strategy(Document& document);
// Mesh, sharding, pipeline and schedule in the place of the strategy that stands for them.
void write_out_strategy(Document& document);
void set_mode(Document& document, LayoutMode mode);
void set_steps(Document& document, int64_t steps);
void set_microbatches(Document& document, int64_t microbatches);
void set_rematerialisation(Document& document, const std::string& policy);
void set_overlap(Document& document, OverlapMode overlap);
void set_zero(Document& document, ZeroConfig zero);
void set_pipeline(Document& document, PipelineConfig pipeline);
// Another mesh axis, of 2 stages, that is the pipeline: one edit.
void add_pipeline_axis(Document& document);
void set_hosts(Document& document, const std::string& hosts);
void set_machine(Document& document, const Machine& machine);
// By its name, or the path of its file (find_machine()).
void choose_machine(Document& document, const QString& name);
// As many nodes as the mesh needs (with_devices()).
void enlarge_machine(Document& document);
// The software stack that runs the plan there, by its name (stack_names()); empty: this program.
void choose_stack(Document& document, const QString& name);
// The mesh axis becomes the last one, which runs over neighbouring devices.
void put_innermost(Document& document, AxisIndex axis);
// A rule of lint finds nothing in this run file any more.
void turn_rule_off(Document& document, const QString& rule, const QString& reason);
void set_seed(Document& document, int64_t seed);
void set_deterministic(Document& document, bool deterministic);

enum class OptionGroup : uint8_t { model, data, optimizer };
NamedOptions& group(RunConfig& config, OptionGroup which);
const NamedOptions& group(const RunConfig& config, OptionGroup which);
QString group_name(OptionGroup which);  // as in the run file
void set_option(Document& document, OptionGroup group, const std::string& option, const OptionValue& value);

}  // namespace shardscope
