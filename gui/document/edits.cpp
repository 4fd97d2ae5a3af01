#include "gui/document/edits.h"

#include <algorithm>

namespace shardscope {
namespace {

QString dim_text(const std::vector<std::string>& axes) {
  if (axes.empty()) return "None";
  QStringList names;
  for (const std::string& axis : axes) names << QString::fromStdString(axis);
  return names.size() == 1 ? names.front() : "(" + names.join(", ") + ")";
}

QString short_name(const QString& key) { return key.section('/', -2); }

std::vector<std::string> path_of(const QString& key) {
  std::vector<std::string> path;
  for (const QString& part : key.split('/')) path.push_back(part.toStdString());
  return path;
}

// For a config to change and for one to read alike.
template <class Config>
auto find_spec(Config& config, const QString& key) -> decltype(&config.sharding.in) {
  if (key == "in") return &config.sharding.in;
  if (key == "out") return &config.sharding.out;
  const auto found = std::ranges::find(config.sharding.parameters, path_of(key), &ParameterSpec::path);
  return found == config.sharding.parameters.end() ? nullptr : &found->spec;
}

QString option_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return QString::number(*whole);
  if (const auto* number = std::get_if<double>(&value)) return QString::number(*number, 'g', 10);
  return QString::fromStdString(std::get<std::string>(value));
}

}  // namespace

void set_axis_size(Document& document, int axis, int64_t size) {
  RunConfig config = document.config();
  config.mesh_axes.at(axis).size = size;
  config.mesh_devices.clear();
  const QString name = QString::fromStdString(config.mesh_axes[axis].name);
  document.edit(std::move(config), Document::tr("mesh axis %1 = %2").arg(name).arg(size), "mesh/" + name);
}

void set_mesh_axes(Document& document, std::vector<MeshAxis> axes) {
  RunConfig config = document.config();
  config.mesh_axes = std::move(axes);
  config.mesh_devices.clear();
  QStringList sizes;
  for (const MeshAxis& axis : config.mesh_axes)
    sizes << QString("%1=%2").arg(QString::fromStdString(axis.name)).arg(axis.size);
  document.edit(std::move(config), Document::tr("mesh %1").arg(sizes.join(", ")));
}

void set_spec_dim(Document& document, const QString& key, int rank, int dim, const std::vector<std::string>& axes) {
  PartitionSpec spec = spec_of(document.config(), key);
  if (static_cast<int>(spec.dims.size()) <= dim) {
    if (axes.empty()) return;
    spec.dims.resize(rank);
  }
  spec.dims.at(dim) = axes;
  RunConfig config = document.config();
  if (PartitionSpec* found = find_spec(config, key)) {
    *found = std::move(spec);
  } else {
    config.sharding.parameters.push_back({path_of(key), std::move(spec)});
  }
  document.edit(std::move(config),
                Document::tr("%1 dimension %2 = %3").arg(short_name(key)).arg(dim).arg(dim_text(axes)));
}

void set_spec(Document& document, const QString& key, PartitionSpec spec) {
  RunConfig config = document.config();
  const QString text = QString::fromStdString(to_string(spec));
  if (PartitionSpec* found = find_spec(config, key)) {
    *found = std::move(spec);
  } else {
    config.sharding.parameters.push_back({path_of(key), std::move(spec)});
  }
  document.edit(std::move(config), Document::tr("%1 = %2").arg(short_name(key), text));
}

PartitionSpec spec_of(const RunConfig& config, const QString& key) {
  if (key == "in" || key == "out") return *find_spec(config, key);
  const ParameterSpec* found = find_parameter_spec(config.sharding, path_of(key));
  return found ? found->spec : PartitionSpec{};
}

bool is_named(const RunConfig& config, const QString& key) {
  return key == "in" || key == "out" || find_parameter_spec(config.sharding, path_of(key));
}

QString place_of(const QString& key) {
  if (key == "in" || key == "out") return "sharding." + key;
  return QString::fromStdString(parameter_place({path_of(key), {}}));
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
  const QString place = group_name(which) + "." + QString::fromStdString(option);
  document.edit(std::move(config), Document::tr("%1 = %2").arg(place, option_text(value)), place);
}

}  // namespace shardscope
