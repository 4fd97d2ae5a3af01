#include "gui/document/edits.h"

#include <algorithm>

#include "gui/document/text.h"

namespace shardscope {
namespace {

QString dim_text(const std::vector<std::string>& axes) {
  if (axes.empty()) return "None";
  QStringList names;
  for (const std::string& axis : axes) names << qt(axis);
  return names.size() == 1 ? names.front() : "(" + names.join(", ") + ")";
}

QString short_name(const ArrayRef& array) { return name_of(array).section('/', -2); }

QString option_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return QString::number(*whole);
  if (const auto* number = std::get_if<double>(&value)) return QString::number(*number, 'g', 10);
  return qt(std::get<std::string>(value));
}

}  // namespace

void set_axis_size(Document& document, int axis, int64_t size) {
  RunConfig config = document.config();
  config.mesh_axes.at(axis).size = size;
  config.mesh_devices.clear();
  const QString name = qt(config.mesh_axes[axis].name);
  document.edit(std::move(config), Document::tr("mesh axis %1 = %2").arg(name).arg(size), "mesh/" + name);
}

void set_mesh_axes(Document& document, std::vector<MeshAxis> axes) {
  RunConfig config = document.config();
  config.mesh_axes = std::move(axes);
  config.mesh_devices.clear();
  QStringList sizes;
  for (const MeshAxis& axis : config.mesh_axes) sizes << QString("%1=%2").arg(qt(axis.name)).arg(axis.size);
  document.edit(std::move(config), Document::tr("mesh %1").arg(sizes.join(", ")));
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
  if (std::holds_alternative<InputRef>(array)) {
    config.sharding.in = std::move(spec);
  } else if (std::holds_alternative<OutputRef>(array)) {
    config.sharding.out = std::move(spec);
  } else {
    set_parameter_spec(config.sharding, std::get<ParameterRef>(array).path, std::move(spec));
  }
  document.edit(std::move(config),
                Document::tr("%1 dimension %2 = %3").arg(short_name(array)).arg(dim).arg(dim_text(axes)));
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

void set_mode(Document& document, LayoutMode mode) {
  RunConfig config = document.config();
  config.sharding.mode = mode;
  document.edit(std::move(config), mode == LayoutMode::cheapest ? Document::tr("layout mode cheapest")
                                                                : Document::tr("layout mode as written"));
}

void set_steps(Document& document, int64_t steps) {
  RunConfig config = document.config();
  config.steps = steps;
  document.edit(std::move(config), Document::tr("steps = %1").arg(steps), "steps");
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
