#include "viz/paint/timeline_colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/graph/op_definition.h"
#include "viz/paint/timeline_ranks.h"

namespace shardscope {
namespace {

// Ascending in the order of the legend where that is not by time.
struct Key {
  enum class Sort : uint8_t { work, moving } sort = Sort::work;
  int number = 0;  // the layer, -1 outside of layers; the kind of step
  std::string_view text;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const Plan& plan, const Instruction& instruction, TimelineColoring coloring) {
  if (is_communication(instruction.kind()))
    return {Key::Sort::moving, static_cast<int>(instruction.operation()), name(instruction.operation())};
  const Op* op = plan.graph && instruction.op != no_id ? &plan.graph->ops[size_t(instruction.op)] : nullptr;
  if (coloring == TimelineColoring::layer) return {Key::Sort::work, op ? op->place.layer : -1, {}};
  if (instruction.kind() != InstructionKind::compute) return {Key::Sort::work, 0, name(instruction.kind())};
  return {Key::Sort::work, 0, op && op->definition ? op->definition->name() : name(instruction.kind())};
}

std::string label_of(const Key& key, TimelineColoring coloring) {
  if (key.sort == Key::Sort::moving || coloring == TimelineColoring::kind) return std::string(key.text);
  return key.number < 0 ? "outside layers" : fmt::format("layer {}", key.number);
}

QColor work_color(size_t place, const Key& key, TimelineColoring coloring, const Theme& theme) {
  const double light = theme.dark ? 0.60 : 0.72;
  if (coloring == TimelineColoring::kind) {
    constexpr std::array<double, most_kinds> hues{255, 145, 300, 200, 95, 325, 225};
    return place < most_kinds ? oklch(light - (place % 2 ? 0.06 : 0), 0.085, hues[place]) : oklch(light, 0.0, 0);
  }
  // Neighbours are a golden angle apart.
  return key.number < 0 ? oklch(light, 0.0, 0) : oklch(light - (key.number % 2 ? 0.07 : 0), 0.075, 137.5 * key.number);
}

}  // namespace

TimelineColors timeline_colors(const Plan& plan, TimelineColoring coloring, const Theme& theme) {
  std::map<Key, double> seconds;
  InstructionTable<Key> keys;
  for (const Task& task : plan.program.tasks) {
    std::vector<Key>& of_task = keys.tasks.emplace_back();
    for (const Instruction& instruction : task.instructions) of_task.push_back(key_of(plan, instruction, coloring));
  }
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    std::map<int, int> runs;  // of each task
    for (const TaskRun& run : plan.program.main(stage).runs) ++runs[run.task];
    std::map<Key, double> own;
    for (const auto& [task, times] : runs)
      for (size_t step = 0; step < keys.tasks[size_t(task)].size(); ++step)
        own[keys.tasks[size_t(task)][step]] += times * plan.instruction_seconds.tasks[size_t(task)][step];
    for (const auto& [key, taken] : own) seconds[key] = std::max(seconds[key], taken);
  }
  std::vector<std::pair<Key, double>> order(seconds.begin(), seconds.end());
  if (coloring == TimelineColoring::kind)
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
      return a.first.sort != b.first.sort ? a.first.sort < b.first.sort : a.second > b.second;
    });
  TimelineColors colors;
  std::map<Key, QRgb> color_of;
  double others = 0;
  const auto add_others = [&] {
    if (others > 0)
      colors.legend.push_back({"other work", work_color(most_kinds, {}, TimelineColoring::kind, theme), others});
    others = 0;
  };
  size_t place = 0;
  for (const auto& [key, taken] : order) {
    const bool is_work = key.sort == Key::Sort::work;
    const QColor color = is_work ? work_color(place++, key, coloring, theme)
                                 : instruction_color(static_cast<InstructionKind>(key.number), theme);
    color_of[key] = color.rgb();
    if (!is_work) add_others();
    if (is_work && coloring == TimelineColoring::kind && place > most_kinds) others += taken;
    else colors.legend.push_back({label_of(key, coloring), color, taken, !is_work});
  }
  add_others();
  InstructionTable<QRgb> known;
  for (const std::vector<Key>& of_task : keys.tasks) {
    std::vector<QRgb>& own = known.tasks.emplace_back();
    for (const Key& key : of_task) own.push_back(color_of[key]);
  }
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    std::vector<QRgb>& own = colors.of_stage.emplace_back();
    for (const TaskRun& run : plan.program.main(stage).runs) {
      const Task& task = plan.program.tasks[size_t(run.task)];
      for (int place = 0; place < task.size(); ++place)
        own.push_back(known.tasks[size_t(run.task)][size_t(task.order.index(place))]);
    }
  }
  return colors;
}

}  // namespace shardscope
