#include "engine/cli/diff_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/plural.h"
#include "engine/cli/text_table.h"
#include "engine/compare/difference_rows.h"

namespace shardscope {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr size_t most_rows = 20;

// "+12.3 ms", "-0.41 ms"
std::string change_ms(double seconds) { return fmt::format("{:+.3g} ms", seconds * 1e3); }

// A heading, the first rows, and how many more there are; nothing without rows.
template <class Line, class Row>
std::string table_of(const std::string& heading, std::vector<TextTable::Column> columns, const std::vector<Line>& lines,
                     Row row) {
  if (lines.empty()) return {};
  TextTable table(std::move(columns));
  for (size_t i = 0; i < std::min(lines.size(), most_rows); ++i) table.add_row(row(lines[i]));
  std::string text = heading + "\n" + table.text();
  if (lines.size() > most_rows)
    text += fmt::format("and {}\n", counted(int64_t(lines.size() - most_rows), "more line"));
  return text + "\n";
}

std::string interval_text(const MeanInterval& interval) {
  const std::string range = interval.half_width ? fmt::format(" +- {:.2g}", *interval.half_width) : "";
  return fmt::format("{:.4g}{} ms over {}", interval.mean, range, counted(interval.count, "step"));
}

// How much longer a step of B takes, and whether that is certain.
std::string change_text(const MeanInterval& change) {
  if (!change.half_width) {
    return fmt::format("B - A: {:+.3g} ms a step: too few steps to tell a difference from chance\n\n", change.mean);
  }
  const bool is_clear = std::abs(change.mean) > *change.half_width;
  return fmt::format("B - A: {:+.3g} +- {:.2g} ms a step (95 %): {}\n\n", change.mean, *change.half_width,
                     is_clear ? (change.mean > 0 ? "B is slower" : "B is faster") : "no difference is shown");
}

std::string measured_text(const DiffReport& report) {
  std::string text;
  if (report.before_ms) text += fmt::format("A measured {}\n", interval_text(*report.before_ms));
  if (report.after_ms) text += fmt::format("B measured {}\n", interval_text(*report.after_ms));
  if (!report.runs) return text.empty() ? text : text + "\n";
  const RunDifference& runs = *report.runs;
  text += change_text(runs.difference_ms);
  text += table_of(fmt::format("Metrics of {} that both have", counted(runs.steps, "step")),
                   {{"Metric"},
                    {"A", Align::right},
                    {"B", Align::right},
                    {"Largest difference", Align::right},
                    {"First step", Align::right}},
                   runs.metrics, [](const RunDifference::Metric& metric) {
                     return std::vector<std::string>{
                         metric.name, fmt::format("{:.6g}", metric.before), fmt::format("{:.6g}", metric.after),
                         fmt::format("{:.3g}", metric.largest),
                         metric.first_step < 0 ? "equal" : std::to_string(metric.first_step)};
                   });
  return text + table_of("Measured time of a step by cause, mean over ranks",
                         {{"Change", Align::right},
                          {"A", Align::right},
                          {"B", Align::right},
                          {"Of it waiting", Align::right},
                          {"Cause"}},
                         runs.times, [](const RunDifference::Time& time) {
                           return std::vector<std::string>{
                               change_ms(time.after - time.before), fmt::format("{:.3g} ms", time.before * 1e3),
                               fmt::format("{:.3g} ms", time.after * 1e3),
                               change_ms(time.waited_after - time.waited_before), time.cause};
                         });
}

Json interval_json(const MeanInterval& interval) {
  return {{"count", interval.count},
          {"mean_ms", interval.mean},
          {"half_width_ms", interval.half_width ? Json(*interval.half_width) : Json(nullptr)}};
}

Json runs_json(const RunDifference& runs) {
  Json metrics = Json::array(), times = Json::array();
  for (const RunDifference::Metric& metric : runs.metrics) {
    metrics.push_back({{"name", metric.name},
                       {"before", metric.before},
                       {"after", metric.after},
                       {"largest_difference", metric.largest},
                       {"first_step", metric.first_step < 0 ? Json(nullptr) : Json(metric.first_step)}});
  }
  for (const RunDifference::Time& time : runs.times) {
    times.push_back({{"cause", time.cause},
                     {"before", time.before},
                     {"after", time.after},
                     {"waited_before", time.waited_before},
                     {"waited_after", time.waited_after}});
  }
  return {
      {"steps", runs.steps}, {"difference", interval_json(runs.difference_ms)}, {"metrics", metrics}, {"times", times}};
}

}  // namespace

DiffReport diff_report(const ExportSource& before, const ExportSource& after) {
  DiffReport report{difference_of(*before.plan, *after.plan), {}, {}, {}};
  if (before.run) report.before_ms = step_interval(before);
  if (after.run) report.after_ms = step_interval(after);
  if (before.run && after.run) report.runs = difference_of(before, after);
  return report;
}

std::string diff_text(const DiffReport& report) {
  using Row = std::vector<std::string>;
  std::string text = step_difference_text(report.plans) + "\n\n";
  for (const DifferenceSection& section : difference_sections(report.plans)) {
    std::vector<TextTable::Column> columns = {{section.name_title}, {"A"}, {"B"}};
    if (section.has_changes)
      columns = {{"Change", Align::right}, {"A", Align::right}, {"B", Align::right}, {section.name_title}};
    text += table_of(section.title, columns, section.rows, [&](const DifferenceRow& row) {
      return section.has_changes ? Row{row.change, row.before, row.after, row.name}
                                 : Row{row.name, row.before, row.after};
    });
  }
  return text + measured_text(report);
}

std::string diff_json(const DiffReport& report) {
  const PlanDifference& plans = report.plans;
  Json settings = Json::array(), layouts = Json::array(), traffic = Json::array(), memory = Json::array(),
       times = Json::array(), hidden = Json::array();
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  for (const SettingChange& setting : plans.settings) {
    const auto value = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json::parse(text); };
    settings.push_back({{"path", setting.path}, {"before", value(setting.before)}, {"after", value(setting.after)}});
  }
  for (const PlanDifference::Layout& layout : plans.layouts) {
    layouts.push_back({{"array", layout.array},
                       {"parameter", layout.is_parameter},
                       {"count", layout.count},
                       {"before", or_null(layout.before)},
                       {"after", or_null(layout.after)}});
  }
  for (const PlanDifference::Traffic& line : plans.traffic) {
    traffic.push_back({{"name", line.name},
                       {"what", line.what()},
                       {"before_count", line.before},
                       {"after_count", line.after},
                       {"before_wire_bytes", line.before_bytes},
                       {"after_wire_bytes", line.after_bytes}});
  }
  for (const PlanDifference::Memory& line : plans.memory)
    memory.push_back({{"category", line.category}, {"before", line.before}, {"after", line.after}});
  for (const PlanDifference::Time& time : plans.times)
    times.push_back({{"cause", time.cause}, {"before", time.before}, {"after", time.after}, {"note", time.note}});
  for (const PlanDifference::Hidden& line : plans.hidden)
    hidden.push_back({{"cause", line.cause}, {"before", line.before}, {"after", line.after}});
  Json json = {{"seconds_per_step", {{"before", plans.before_seconds}, {"after", plans.after_seconds}}},
               {"settings", settings},
               {"times", times},
               {"hidden", hidden},
               {"memory", memory},
               {"collectives", traffic},
               {"shardings", layouts}};
  Json measured = Json::object();
  if (report.before_ms) measured["before"] = interval_json(*report.before_ms);
  if (report.after_ms) measured["after"] = interval_json(*report.after_ms);
  if (report.runs) measured.update(runs_json(*report.runs));
  if (!measured.empty()) json["measured"] = std::move(measured);
  return json.dump(1) + '\n';
}

}  // namespace shardscope
