#include "gui/document/edits.h"

#include <algorithm>

#include "engine/compile/file_paths.h"
#include "engine/compile/plan_request.h"
#include "engine/config/rename_axis.h"
#include "engine/config/strategy.h"
#include "engine/machine/chosen_stack.h"
#include "engine/mesh/device_count.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

QString short_name(const ArrayRef& array) { return name_of(array).section('/', -2); }

QString option_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return QString::number(*whole);
  if (const auto* number = std::get_if<double>(&value)) return QString::number(*number, 'g', 10);
  if (const auto* list = std::get_if<TextList>(&value)) return list_text(*list);
  if (const auto* text = std::get_if<std::string>(&value)) return qt(*text);
  return qt(to_string(value));
}

// Gives the mesh other axes; true where the order of its devices had to go.
bool put_axes(RunConfig& config, std::vector<MeshAxis> axes) {
  const bool loses_order = loses_device_order(config, axes);
  if (loses_order) config.mesh_devices.clear();
  config.mesh_axes = std::move(axes);
  return loses_order;
}

// A removed axis whose name a renamed one takes is called otherwise, so that what names it is as wrong as after any
// removal, instead of meaning the other axis.
RunConfig rename_removed(RunConfig config, const std::vector<MeshAxis>& axes, const std::vector<std::string>& before) {
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string& name = axes[i].name;
    const bool was_there = std::ranges::count(config.mesh_axes, name, &MeshAxis::name) > 0;
    const bool stays = before[i].empty() || std::ranges::count(before, name) > 0;
    if (was_there && !stays) config = rename_axis(config, name, name + " (removed)");
  }
  return config;
}

QString order_lost() {
  return Document::tr(
      "The order of the devices was for another number of them: it is 0, 1, 2\u2026 again (undo brings it back)");
}

}  // namespace

RunConfig with_mesh_axes(RunConfig config, std::vector<MeshAxis> axes) {
  put_axes(config, std::move(axes));
  return config;
}

void take_config(Document& document, const RunConfig& config, const QString& name) {
  document.edit(config, Document::tr("take plan %1").arg(name));
}

void set_axis_size(Document& document, int axis, int64_t size) {
  RunConfig config = document.config();
  std::vector<MeshAxis> axes = config.mesh_axes;
  axes.at(axis).size = size;
  const QString name = qt(axes[axis].name);
  const bool loses_order = put_axes(config, std::move(axes));
  document.edit(std::move(config), Document::tr("mesh axis %1 = %2").arg(name).arg(size), "mesh/" + name);
  if (loses_order) document.tell(order_lost());
}

void put_hosts(RunConfig& config, const HostsEdit& edit) {
  config.hosts = edit.hosts;
  config.machine = with_network(config.machine, edit.hosts.empty() ? NetworkChoice() : edit.network);
}

void set_hosts(Document& document, const std::string& hosts) {
  RunConfig config = document.config();
  put_hosts(config, {hosts, network_choice(config.machine)});
  document.edit(std::move(config), Document::tr("hosts = %1").arg(qt(hosts)));
}

void set_machine(Document& document, const Machine& machine) {
  RunConfig config = document.config();
  config.machine = machine_choice(machine);
  document.edit(std::move(config), Document::tr("machine %1").arg(qt(machine.name)));
}

void choose_machine(Document& document, const QString& name) {
  document.edit(with_machine(document.config(), name.toStdString()), Document::tr("machine %1").arg(name));
}

void enlarge_machine(Document& document) {
  document.edit(for_devices(document.config(), device_count(document.config().mesh_axes)),
                Document::tr("a larger machine"));
}

void choose_stack(Document& document, const QString& name) {
  RunConfig config = document.config();
  config.stack = stack_choice(name.toStdString());
  document.edit(std::move(config), Document::tr("software %1").arg(name));
}

void set_mesh_axes(Document& document, std::vector<MeshAxis> axes, const std::vector<std::string>& before,
                   const std::optional<std::vector<int>>& devices, const std::optional<HostsEdit>& hosts) {
  RunConfig config = rename_removed(document.config(), axes, before);
  // By way of names that no file has, so that two axes can change theirs.
  const auto passing = [](size_t axis) { return "\x01" + std::to_string(axis); };
  QStringList renamed;
  for (size_t i = 0; i < before.size(); ++i)
    if (!before[i].empty() && before[i] != axes[i].name) {
      config = rename_axis(config, before[i], passing(i));
      renamed << Document::tr("%1 is %2").arg(qt(before[i]), qt(axes[i].name));
    }
  for (size_t i = 0; i < before.size(); ++i) config = rename_axis(config, passing(i), axes[i].name);
  const bool reorders = devices && *devices != config.mesh_devices;
  if (reorders) config.mesh_devices = *devices;
  if (hosts) put_hosts(config, *hosts);
  const bool loses_order = put_axes(config, std::move(axes));
  QStringList sizes;
  for (const MeshAxis& axis : config.mesh_axes) sizes << QString("%1=%2").arg(qt(axis.name)).arg(axis.size);
  document.edit(std::move(config), renamed.isEmpty() ? Document::tr("mesh %1").arg(sizes.join(", "))
                                                     : Document::tr("mesh axis %1").arg(renamed.join(", ")));
  if (loses_order) document.tell(order_lost());
}

bool loses_device_order(const RunConfig& config, const std::vector<MeshAxis>& axes) {
  return !config.mesh_devices.empty() && device_count(axes) != std::ssize(config.mesh_devices);
}

void set_spec_dim(Document& document, const ArrayRef& array, int rank, int dim, const std::vector<std::string>& axes) {
  set_spec_dim(document, array, spec_of(document.config(), array), rank, dim, axes);
}

void set_spec_dim(Document& document, const ArrayRef& array, PartitionSpec spec, int rank, int dim,
                  const std::vector<std::string>& axes) {
  if (static_cast<int>(spec.dims.size()) <= dim) {
    if (axes.empty()) return;
    spec.dims.resize(rank);
  }
  spec.dims.at(dim) = axes;
  RunConfig config = document.config();
  put_spec(config, array, std::move(spec));
  document.edit(std::move(config),
                Document::tr("%1 dimension %2 = %3").arg(short_name(array)).arg(dim).arg(dim_text(axes)));
}

void put_spec(RunConfig& config, const ArrayRef& array, PartitionSpec spec) {
  if (std::holds_alternative<InputRef>(array)) {
    config.sharding.in = std::move(spec);
  } else if (std::holds_alternative<OutputRef>(array)) {
    config.sharding.out = std::move(spec);
  } else {
    set_parameter_spec(config.sharding, std::get<ParameterRef>(array).path, std::move(spec));
  }
}

PartitionSpec spec_of(const RunConfig& config, const ArrayRef& array) {
  if (std::holds_alternative<InputRef>(array)) return config.sharding.in;
  if (std::holds_alternative<OutputRef>(array)) return config.sharding.out;
  const auto* parameter = std::get_if<ParameterRef>(&array);
  const ParameterSpec* named = parameter ? find_parameter_spec(config.sharding, parameter->path) : nullptr;
  return named ? named->spec : PartitionSpec{};
}

QString place_of(const ArrayRef& array) {
  if (std::holds_alternative<InputRef>(array)) return "sharding.in";
  if (std::holds_alternative<OutputRef>(array)) return "sharding.out";
  const auto* parameter = std::get_if<ParameterRef>(&array);
  return parameter ? qt(parameter_place({parameter->path, {}})) : QString();
}

void set_strategy(Document& document, StrategyConfig strategy, const QString& key) {
  document.edit(with_strategy(document.config(), std::move(strategy)), Document::tr("strategy: %1").arg(key),
                "strategy." + key);
}

void begin_strategy(Document& document) {
  StrategyConfig strategy;
  const RunConfig& config = document.config();
  for (const MeshAxis& axis : config.mesh_axes) {
    const std::string name = axis.name == config.pipeline.axis ? "pipeline"
                             : axis.name == "model"            ? "tensor"
                                                               : axis.name;
    int64_t* degree = find_degree(strategy, name);
    *(degree ? degree : &strategy.data) *= std::max<int64_t>(1, axis.size);
  }
  if (config.sharding.zero.stage > 0 && strategy.data > 1) strategy.zero = config.sharding.zero.stage;
  strategy.recompute = recompute_of(config.schedule.rematerialise);
  const OptionValue* rows = config.data.find("batch_size");
  const int64_t parts = strategy.replicas() * config.schedule.microbatches;
  if (const auto* batch = rows ? std::get_if<int64_t>(rows) : nullptr; batch && *batch % parts == 0)
    strategy.microbatch_size = *batch / parts;
  document.edit(with_strategy(config, std::move(strategy)), Document::tr("a strategy in place of the mesh"));
}

void write_out_strategy(Document& document) {
  RunConfig config = document.config();
  config.strategy.reset();
  document.edit(std::move(config), Document::tr("strategy written out"));
}

void set_mode(Document& document, LayoutMode mode) {
  RunConfig config = document.config();
  config.sharding.mode = mode;
  document.edit(std::move(config), mode == LayoutMode::fastest ? Document::tr("layout mode fastest")
                                                               : Document::tr("layout mode as written"));
}

void set_steps(Document& document, int64_t steps) {
  RunConfig config = document.config();
  config.steps = steps;
  document.edit(std::move(config), Document::tr("steps = %1").arg(steps), "steps");
}

void set_microbatches(Document& document, int64_t microbatches) {
  RunConfig config = document.config();
  config.schedule.microbatches = microbatches;
  document.edit(std::move(config), Document::tr("microbatches = %1").arg(microbatches), "schedule.microbatches");
}

void set_rematerialisation(Document& document, const std::string& policy) {
  RunConfig config = document.config();
  config.schedule.rematerialise = policy;
  document.edit(std::move(config), Document::tr("rematerialise = %1").arg(pattern_text(policy)),
                "schedule.rematerialise");
}

void set_overlap(Document& document, OverlapMode overlap) {
  RunConfig config = document.config();
  config.schedule.overlap = overlap;
  document.edit(std::move(config),
                overlap == OverlapMode::off ? Document::tr("no overlap") : Document::tr("overlap where it pays"));
}

void set_zero(Document& document, ZeroConfig zero) {
  RunConfig config = document.config();
  const QString text = zero.stage == 0 ? Document::tr("no ZeRO") : Document::tr("ZeRO stage %1").arg(zero.stage);
  config.sharding.zero = std::move(zero);
  document.edit(std::move(config), text);
}

void set_pipeline(Document& document, PipelineConfig pipeline) {
  RunConfig config = document.config();
  const QString text = pipeline.axis.empty()
                           ? Document::tr("no pipeline")
                           : Document::tr("pipeline over %1, %2").arg(qt(pipeline.axis), qt(pipeline.schedule));
  config.pipeline = std::move(pipeline);
  document.edit(std::move(config), text);
}

void add_pipeline_axis(Document& document) {
  RunConfig config = document.config();
  std::vector<MeshAxis> axes = config.mesh_axes;
  std::string name = "pipeline";
  for (int number = 2; std::ranges::count(axes, name, &MeshAxis::name) > 0; ++number)
    name = "pipeline_" + std::to_string(number);
  axes.push_back({name, 2});
  const bool loses_order = put_axes(config, std::move(axes));
  config.pipeline.axis = name;
  document.edit(std::move(config), Document::tr("pipeline of 2 stages"));
  if (loses_order) document.tell(order_lost());
}

void put_innermost(Document& document, AxisIndex axis) {
  RunConfig config = document.config();
  const std::string name = config.mesh_axes.at(axis).name;
  if (std::optional<RunConfig> written = without_expansion(config)) {
    std::vector<std::string>& order = written->strategy->order;
    std::erase(order, name);
    order.push_back(name);
    config = expand_strategy(std::move(*written));
  } else {
    const auto moved = config.mesh_axes.begin() + axis;
    std::rotate(moved, moved + 1, config.mesh_axes.end());
  }
  document.edit(std::move(config), Document::tr("%1 innermost").arg(qt(name)));
}

void turn_rule_off(Document& document, const QString& rule, const QString& reason) {
  RunConfig config = document.config();
  std::erase_if(config.lint.off, [&](const auto& entry) { return entry.first == rule.toStdString(); });
  config.lint.off.emplace_back(rule.toStdString(), reason.toStdString());
  document.edit(std::move(config), Document::tr("%1 is off").arg(rule));
}

void set_seed(Document& document, int64_t seed) {
  RunConfig config = document.config();
  config.seed = seed;
  document.edit(std::move(config), Document::tr("seed = %1").arg(seed), "seed");
}

void set_deterministic(Document& document, bool deterministic) {
  RunConfig config = document.config();
  config.deterministic = deterministic;
  document.edit(std::move(config),
                deterministic ? Document::tr("deterministic (no dropout)") : Document::tr("dropout on"));
}

NamedOptions& group(RunConfig& config, OptionGroup which) {
  if (which == OptionGroup::model) return config.model;
  return which == OptionGroup::data ? config.data : config.optimizer;
}

const NamedOptions& group(const RunConfig& config, OptionGroup which) {
  if (which == OptionGroup::model) return config.model;
  return which == OptionGroup::data ? config.data : config.optimizer;
}

QString group_name(OptionGroup which) {
  if (which == OptionGroup::model) return "model";
  return which == OptionGroup::data ? "data" : "optimizer";
}

void set_option(Document& document, OptionGroup which, const std::string& option, const OptionValue& value) {
  RunConfig config = document.config();
  auto& options = group(config, which).options;
  const auto found = std::ranges::find_if(options, [&](const auto& entry) { return entry.first == option; });
  if (found == options.end()) {
    options.emplace_back(option, value);
  } else {
    found->second = value;
  }
  const QString place = group_name(which) + "." + qt(option);
  document.edit(std::move(config), Document::tr("%1 = %2").arg(place, option_text(value)), place);
}

}  // namespace shardscope
