#include "engine/cli/training_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/compile/compile.h"
#include "viz/text/visualize.h"

namespace shardscope {

std::string opening_lines(const Plan& plan) {
  std::string text;
  for (const auto& [caption, path] : layout_captions(plan.config)) {
    auto found = std::find_if(plan.parameters.begin(), plan.parameters.end(),
                              [&path = path](const ParameterPlan& parameter) { return parameter.path == path; });
    if (found == plan.parameters.end()) continue;
    text += fmt::format("Parameter sharding: {}\n{}", caption,
                        visualize_sharding(found->sharding, plan.mesh, found->shape));
  }
  for (const ParameterPlan& parameter : plan.parameters) {
    if (!parameter.named) continue;
    text += fmt::format("Sharded param ('{}'{}) with {}\n", fmt::join(parameter.path, "', '"),
                        parameter.path.size() == 1 ? "," : "", to_string(parameter.spec));
  }
  if (!plan.trains())
    text += "The run file names no optimizer: each step evaluates the model, and nothing is learned\n";
  return text;
}

std::string epoch_line(const StepMessage& step) {
  return fmt::format("Epoch {}: Loss = {:.4f}, Accuracy = {:.2f}%\n", step.step, step.loss, step.accuracy * 100);
}

std::string json_line(const StepMessage& step) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankMeasurement& rank : step.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"arena_bytes", rank.arena_bytes},
                     {"heap_bytes", rank.heap_bytes},
                     {"wire_bytes_sent", rank.wire_bytes},
                     {"parameter_bytes", rank.parameter_bytes},
                     {"optimizer_bytes", rank.optimizer_bytes}});
  }
  nlohmann::ordered_json json = {{"step", step.step},
                                 {"loss", step.loss},
                                 {"accuracy", step.accuracy},
                                 {"step_ms", step.step_ms},
                                 {"ranks", std::move(ranks)}};
  return json.dump() + '\n';
}

StepMessage to_message(const StepReport& report) {
  StepMessage message;
  message.step = report.record.step;
  message.loss = report.record.loss;
  message.accuracy = report.record.accuracy;
  message.step_ms = report.record.step_ms;
  for (size_t i = 0; i < report.ranks.size(); ++i) {
    const RankUse& use = report.ranks[i];
    RankMeasurement rank;
    rank.rank = static_cast<int>(i);
    rank.arena_bytes = use.arena_bytes;
    rank.heap_bytes = use.heap_bytes;
    rank.wire_bytes = use.wire_bytes;
    rank.parameter_bytes = use.parameter_bytes;
    rank.optimizer_bytes = use.optimizer_bytes;
    message.ranks.push_back(rank);
  }
  return message;
}

}  // namespace shardscope
