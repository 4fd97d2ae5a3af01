#include "gui/panels/array_facts.h"

#include <algorithm>

#include "gui/document/edits.h"

namespace shardscope {
namespace {

const ParameterPlan* find_parameter(const Plan* plan, const QString& key) {
  if (!plan) return nullptr;
  for (const ParameterPlan& parameter : plan->parameters)
    if (parameter_key(parameter.path) == key) return &parameter;
  return nullptr;
}

std::optional<TensorType> parameter_type(const Planner& planner, const QString& key) {
  for (const ParameterInfo& info : planner.parameters())
    if (parameter_key(info.path) == key) return info.type;
  return std::nullopt;
}

// What the parameter's update reads and makes: itself, its gradient, its optimizer state.
void add_graph_values(ArrayFacts& facts, const Plan& plan, const ParameterPlan& planned) {
  if (!plan.graph || planned.state == no_id) return;
  const State& state = plan.graph->states[planned.state];
  facts.graph_values = {state.before};
  if (state.after == no_id) return;
  const Op& update = plan.graph->ops[plan.graph->values[state.after].producer];
  facts.graph_values = update.inputs;
  facts.graph_values.insert(facts.graph_values.end(), update.outputs.begin(), update.outputs.end());
}

std::optional<ArrayFacts> parameter_facts(const Workspace& workspace, const QString& key) {
  ArrayFacts facts;
  facts.key = key;
  QString parameter = key;
  if (key.startsWith("optimizer/")) {
    parameter = key.section('/', 2);
    facts.kind = QObject::tr("optimizer state %1").arg(key.section('/', 1, 1));
  } else {
    facts.kind = QObject::tr("parameter");
    facts.editable = true;
  }
  const std::optional<TensorType> type = parameter_type(workspace.planner, parameter);
  if (!type) return std::nullopt;
  facts.shape = type->shape;
  facts.dtype = type->dtype;
  facts.title = parameter.startsWith("params/") ? parameter.mid(7) : parameter;
  facts.named = is_named(workspace.document.config(), parameter);
  facts.spec = spec_of(workspace.document.config(), parameter);
  const std::shared_ptr<const Plan> plan = workspace.planner.plan();
  if (const ParameterPlan* planned = find_parameter(plan.get(), parameter)) {
    facts.sharding = planned->sharding;
    add_graph_values(facts, *plan, *planned);
  }
  if (!facts.editable) {
    facts.why = QObject::tr("as its parameter: state lies where the parameter lies");
  } else if (facts.named) {
    facts.why = QObject::tr("you set it in the run file");
  } else {
    facts.why = QObject::tr("the run file does not name it, so every device holds all of it");
  }
  return facts;
}

const ValueLayout* find_layout(const Plan& plan, ValueId value) {
  const auto found = std::ranges::find(plan.layouts, value, &ValueLayout::value);
  return found == plan.layouts.end() ? nullptr : &*found;
}

std::optional<ArrayFacts> layout_facts(const Workspace& workspace, const QString& key) {
  const std::shared_ptr<const Plan> plan = workspace.planner.plan();
  ArrayFacts facts;
  facts.key = key;
  facts.editable = key == "in" || key == "out";
  const ValueLayout* layout = nullptr;
  if (facts.editable) {
    facts.kind = key == "in" ? QObject::tr("model input") : QObject::tr("model output");
    facts.title = facts.kind;
    facts.named = true;
    facts.spec = spec_of(workspace.document.config(), key);
    if (plan && plan->graph) {
      const auto& ends = key == "in" ? plan->graph->inputs : plan->graph->outputs;
      const auto found = ends.find(key == "in" ? "tokens" : "logits");
      if (found != ends.end()) layout = find_layout(*plan, found->second);
    }
    if (!layout) {
      facts.shape.assign(std::max<size_t>(facts.spec.dims.size(), 1), 0);
      return facts;
    }
  } else {
    if (!plan) return std::nullopt;
    const auto found = std::ranges::find(plan->layouts, key.mid(6).toStdString(), &ValueLayout::name);
    if (found == plan->layouts.end()) return std::nullopt;
    layout = &*found;
    facts.kind = QObject::tr("forward value");
    facts.title = qt(layout->name);
  }
  facts.shape = layout->shape;
  if (plan->graph && layout->value != no_id) facts.dtype = plan->graph->type(layout->value).dtype;
  facts.sharding = layout->sharding;
  facts.why = qt(layout->origin.text);
  if (layout->value != no_id) facts.graph_values = {layout->value};
  return facts;
}

}  // namespace

std::optional<ArrayFacts> array_facts(const Workspace& workspace, const QString& key) {
  if (key.isEmpty()) return std::nullopt;
  if (key == "in" || key == "out" || key.startsWith("value:")) return layout_facts(workspace, key);
  return parameter_facts(workspace, key);
}

std::vector<int> collectives_of(const Plan& plan, const ArrayFacts& facts) {
  const auto concerns = [&](int value) {
    return std::ranges::find(facts.graph_values, plan.program.values[value].graph_value) != facts.graph_values.end();
  };
  std::vector<int> steps;
  for (size_t i = 0; i < plan.program.steps.size(); ++i) {
    const Step& step = plan.program.steps[i];
    if (is_collective(step.kind) &&
        (std::ranges::any_of(step.inputs, concerns) || std::ranges::any_of(step.outputs, concerns)))
      steps.push_back(static_cast<int>(i));
  }
  return steps;
}

double wire_share(const Plan& plan, const Step& step, const ArrayFacts& facts) {
  const auto concerns = [&](int value) {
    return std::ranges::find(facts.graph_values, plan.program.values[value].graph_value) != facts.graph_values.end();
  };
  double own = 0, all = 0;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const auto bytes = static_cast<double>(plan.program.values[step.inputs[i]].bytes());
    all += bytes;
    if (concerns(step.inputs[i]) || (i < step.outputs.size() && concerns(step.outputs[i]))) own += bytes;
  }
  return all > 0 ? step.wire_bytes * own / all : step.wire_bytes;
}

std::vector<Error> errors_at(const std::vector<Error>& errors, const QString& place) {
  std::vector<Error> found;
  for (const Error& error : errors) {
    const QString where = qt(error.where);
    if (where == place || where.startsWith(place + "[") || where.startsWith(place + ".")) found.push_back(error);
  }
  return found;
}

QString errors_text(const std::vector<Error>& errors) {
  QStringList lines;
  for (const Error& error : errors) {
    QString line = qt(error.message);
    if (!error.hint.empty()) line += " \u2014 " + qt(error.hint);
    lines << line;
  }
  return lines.join('\n');
}

QString short_cause(const QString& cause) {
  const qsizetype more = cause.count('\n');
  if (more == 0) return cause;
  return QObject::tr("%1 (and %2 more)").arg(cause.section('\n', 0, 0)).arg(more);
}

QString parameter_key(const std::vector<std::string>& path) {
  QStringList parts;
  for (const std::string& part : path) parts << qt(part);
  return parts.join('/');
}

QString state_key(const std::string& state, const std::vector<std::string>& path) {
  return "optimizer/" + qt(state) + "/" + parameter_key(path);
}

QString value_key(const std::string& name) { return "value:" + qt(name); }

QString qt(const std::string& text) { return QString::fromStdString(text); }

}  // namespace shardscope
