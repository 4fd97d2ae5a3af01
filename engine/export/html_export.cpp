#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "engine/base/path.h"
#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/base/version.h"
#include "engine/compile/document_of.h"
#include "engine/export/html_page.h"
#include "engine/export/kinds.h"
#include "engine/export/measured_steps.h"
#include "engine/lint/lint.h"
#include "engine/lint/rules/axis_use.h"
#include "engine/plan/host_groups.h"
#include "engine/plan/level_lanes.h"
#include "engine/plan/time_causes.h"

namespace shardscope {
namespace {

constexpr size_t most_causes = 20, most_parameters = 200;

using HtmlRows = std::vector<std::vector<std::string>>;

// A model that was opened from a folder is called as the folder.
std::string model_title(const Plan& plan) {
  const NamedOptions model = document_of(plan).model;
  const OptionValue* path = model.find("path");
  const auto* text = path ? std::get_if<std::string>(path) : nullptr;
  if (!text) return model.name;
  const std::filesystem::path folder(without_slashes(*text));
  return (folder.extension() == ".json" ? folder.parent_path() : folder).filename().string();
}

std::string summary_table(const Plan& plan) {
  const PlanTotals& totals = plan.totals;
  double hidden = 0;
  for (const Simulation::Communication& of_stage : plan.simulation.communication)
    hidden = std::max(hidden, of_stage.hidden);
  HtmlRows rows{{"Model", model_title(plan)},
                {"Machine", plan.machine.name},
                {"Devices", std::to_string(plan.mesh.device_count())},
                {"Predicted step", seconds_text(totals.seconds_per_step)},
                {"Memory of the heaviest device", bytes_text(double(totals.device_bytes))},
                {"Sent by a device in a step", bytes_text(totals.wire_bytes_per_device)},
                {"Computed by a device in a step", flops_text(totals.flops_per_device)},
                {"Communication", fmt::format("{} exposed, {} hidden", seconds_text(plan.simulation.most_exposed()),
                                              seconds_text(hidden))}};
  if (plan.pipeline.axis) rows.push_back({"Bubble", fmt::format("{:.1f} %", 100 * plan.simulation.bubble)});
  rows.push_back({"Plan", fmt::format("{:016x}, by Shardscope {}", plan.hash, version)});
  return html_table({{""}, {""}}, rows);
}

std::string strategy_chapter(const Plan& plan) {
  HtmlRows axes;
  for (const AxisUse& axis : axis_uses(plan)) {
    std::vector<std::string> roles;
    if (axis.is_pipeline) roles.push_back("stages of a pipeline, " + plan.pipeline.schedule);
    if (axis.splits_rows) roles.push_back("rows of the batch");
    if (axis.splits_parameters) roles.push_back("parameters");
    if (axis.reduces_activations) roles.push_back("sums of activations");
    if (roles.empty()) roles.push_back(axis.splits_values ? "activations" : "nothing");
    const std::string level = axis.level < 0 ? "" : plan.machine.levels[static_cast<size_t>(axis.level)].name;
    axes.push_back({axis.name, std::to_string(axis.size), fmt::format("{}", fmt::join(roles, ", ")), level,
                    seconds_text(axis.exposed_seconds), bytes_text(axis.wire_bytes)});
  }
  std::string text =
      html_table({{"Mesh axis"}, {"Devices", true}, {"Splits"}, {"Level"}, {"Exposed", true}, {"Sent", true}}, axes);
  const int microbatches = plan.pipeline.shape.microbatches;
  return text + html_paragraph(fmt::format("Layouts {}; {} a step.",
                                           plan.as_written ? "as written" : "chosen for the shortest step",
                                           counted(microbatches, "microbatch", "microbatches")));
}

std::string memory_chapter(const Plan& plan) {
  std::vector<BarRow> bars;
  HtmlRows rows;
  for (size_t stage = 0; stage < plan.pipeline.totals.size(); ++stage) {
    const PlanTotals& totals = plan.pipeline.totals[stage];
    BarRow bar{plan.pipeline.axis ? fmt::format("stage {}", stage) : "each device", {}};
    std::vector<std::string> row{bar.name};
    for (int c = 0; c < memory_category_count; ++c) {
      const double bytes = double(totals.device_memory[static_cast<size_t>(c)]);
      bar.parts.push_back({std::string(name(static_cast<MemoryCategory>(c))), bytes});
      row.push_back(bytes_text(bytes));
    }
    if (!plan.stack.runs_here()) row.push_back(bytes_text(double(totals.allocator_bytes)));
    row.push_back(bytes_text(double(totals.device_bytes)));
    bars.push_back(std::move(bar));
    rows.push_back(std::move(row));
  }
  std::vector<HtmlColumn> columns{{""}};
  for (int c = 0; c < memory_category_count; ++c)
    columns.push_back({std::string(name(static_cast<MemoryCategory>(c))), true});
  if (!plan.stack.runs_here()) columns.push_back({"allocator", true});
  columns.push_back({"all", true});
  return svg_bars(bars, bytes_text) + html_table(columns, rows);
}

std::string time_line(const Plan& plan) {
  const std::vector<std::string> kinds{"compute", "waiting for communication", "exposed transfer", "hidden transfer"};
  const std::vector<StageLanes> levels = level_lanes(plan);
  std::vector<Lane> lanes;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions instructions = plan.instructions(stage);
    const std::vector<Simulation::Span>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
    const std::string prefix = plan.program.stages > 1 ? fmt::format("stage {} ", stage) : "";
    Lane computing{prefix + "compute", {}};
    for (int position = 0; position < instructions.size(); ++position) {
      const Simulation::Span& span = spans[static_cast<size_t>(position)];
      computing.spans.push_back({span.start, span.end, is_communication(instructions[position].kind()) ? 1 : 0});
    }
    lanes.push_back(std::move(computing));
    for (const LevelLane& level : levels[static_cast<size_t>(stage)].lanes) {
      Lane& lane = lanes.emplace_back(Lane{prefix + level.name, {}});
      for (const TransferPart& part : level.parts)
        lane.spans.push_back({part.span.start, part.span.end, part.is_exposed ? 2 : 3});
    }
  }
  return svg_lanes(lanes, plan.simulation.seconds, kinds);
}

std::string time_chapter(const Plan& plan) {
  std::vector<BarRow> bars;
  HtmlRows rows;
  std::vector<TimeCause> causes = time_causes(plan);
  std::ranges::stable_sort(causes, std::greater{}, [](const TimeCause& one) { return one.seconds + one.hidden; });
  for (const TimeCause& cause : causes) {
    if (rows.size() == most_causes || cause.seconds + cause.hidden <= 0) break;
    bars.push_back({cause.name, {{"exposed", cause.seconds}, {"hidden", cause.hidden}}});
    rows.push_back({cause.name, std::to_string(cause.count), seconds_text(cause.seconds),
                    cause.hidden > 0 ? fmt::format("{} behind {}", seconds_text(cause.hidden), cause.behind) : "",
                    cause.wire_bytes > 0 ? bytes_text(cause.wire_bytes) : ""});
  }
  return time_line(plan) + svg_bars(bars, seconds_text) +
         html_table({{"Cause"}, {"Times", true}, {"Exposed", true}, {"Hidden"}, {"Sent", true}}, rows);
}

std::string parameters_chapter(const Plan& plan) {
  HtmlRows rows;
  for (const ParameterPlan& parameter : plan.parameters) {
    if (rows.size() == most_parameters) break;
    const Shape local = local_shape(parameter.sharding, plan.mesh, parameter.shape);
    rows.push_back({join_path(parameter.path), to_string(parameter.shape), to_string(parameter.spec), to_string(local),
                    bytes_text(double(element_count(local) * byte_size(parameter.dtype))), parameter.origin.text});
  }
  std::string text = html_table({{"Parameter"}, {"Shape"}, {"Spec"}, {"Per device"}, {"Size", true}, {"Why"}}, rows);
  if (plan.parameters.size() > most_parameters)
    text += html_paragraph(
        fmt::format("and {}", counted(int64_t(plan.parameters.size() - most_parameters), "more parameter")));
  return text;
}

std::string findings_chapter(const Plan& plan) {
  HtmlRows rows;
  for (const Error& warning : plan.warnings) rows.push_back({"warning", to_string(warning), ""});
  for (const Finding& finding : certain_findings(plan))
    rows.push_back({finding.rule, to_string(finding.place) + ": " + finding.message, cost_text(finding)});
  if (rows.empty()) return html_paragraph("None that the plan alone shows; shardrun lint also tries changes.");
  return html_table({{"Rule"}, {"Finding"}, {"Cost"}}, rows);
}

// Of steps that a restart did anew the last counts.
std::map<int64_t, StepMessage> last_steps_of(const MeasuredRun& run) {
  std::map<int64_t, StepMessage> steps;
  run.replay([&](const Message& message) {
    if (const StepMessage* step = std::get_if<StepMessage>(&message)) steps[step->step] = *step;
  });
  return steps;
}

std::string evidence(const ExportSource& source) {
  if (!source.run) return html_paragraph("Nothing of this plan was measured: it is a prediction.");
  const std::map<int64_t, StepMessage> steps = last_steps_of(*source.run);
  if (steps.empty()) return html_paragraph("The recorded run did no step.");
  std::vector<double> numbers, times;
  std::map<std::string, std::vector<double>> metrics;
  for (const auto& [number, step] : steps) {
    numbers.push_back(double(number));
    times.push_back(step.step_ms);
    for (const MetricValue& metric : step.metrics) metrics[metric.name].push_back(metric.value);
  }
  std::vector<double> warm(times.begin() + (times.size() > 1 ? 1 : 0), times.end());
  std::ranges::nth_element(warm, warm.begin() + std::ssize(warm) / 2);
  const double median = warm[warm.size() / 2], predicted = source.plan->totals.seconds_per_step * 1e3;
  std::string text =
      html_table({{""}, {"", true}}, {{"Steps", std::to_string(steps.size())},
                                      {"Median step", seconds_text(median / 1e3)},
                                      {"Predicted step", seconds_text(predicted / 1e3)},
                                      {"Measured / predicted", fmt::format("{:.2f}", median / predicted)}});
  text += svg_curve(numbers, times, "ms a step");
  for (const auto& [metric, values] : metrics) {
    if (values.size() == numbers.size()) text += svg_curve(numbers, values, metric);
  }
  return text;
}

void write_html(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  const Plan& plan = *source.plan;
  std::string body = summary_table(plan);
  const std::pair<const char*, std::string (*)(const Plan&)> chapters[] = {{"Strategy", strategy_chapter},
                                                                           {"Memory", memory_chapter},
                                                                           {"Time", time_chapter},
                                                                           {"Findings", findings_chapter},
                                                                           {"Parameters", parameters_chapter}};
  double done = 0;
  for (const auto& [title, make] : chapters) {
    body += html_section(title, make(plan));
    target.progress(++done / 7);
  }
  body += html_section("Evidence", evidence(source));
  body += html_section("Run file", fmt::format("<pre>{}</pre>\n", html_text(plan.run_file)));
  target.write(html_page(fmt::format("{} on {}", model_title(plan), plan.machine.name), body));
  target.progress(1);
  target.note(source.run ? "plan and run" : "plan");
}

}  // namespace

ExportKind html_export() {
  return {"html", "a report as one page of HTML: tables, pictures, strategy, findings, what was measured",
          "html", {},
          false,  write_html};
}

}  // namespace shardscope
