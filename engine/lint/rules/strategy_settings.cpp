#include "engine/lint/rules/strategy_settings.h"

#include <fmt/format.h>

#include <variant>

#include "engine/config/json_document.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

int64_t batch_size(const RunConfig& config) {
  const OptionValue* rows = config.data.find("batch_size");
  const int64_t* size = rows ? std::get_if<int64_t>(rows) : nullptr;
  return size ? *size : 0;
}

std::string order_setting(const std::string& axes) {
  JsonNode names = JsonNode::array();
  for (const JsonNode& axis : read_json(axes, "mesh.axes").items) names.items.push_back(*axis.find("name"));
  return "strategy.order=" + print_json_line(names);
}

}  // namespace

Settings by_strategy(const LintSubject& subject, Settings settings) {
  const RunConfig& config = subject.config;
  if (!config.strategy) return settings;
  const StrategyConfig& strategy = *config.strategy;
  Settings list;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    const std::string path = setting.substr(0, equals), value = setting.substr(equals + 1);
    std::string own = strategy_place(config, path);
    if (path == "mesh.axes") own = order_setting(value);
    else if (path == "sharding.zero.axis") continue;
    else if (path == "sharding.zero.stage") own = "strategy.zero=" + value;
    else if (path == "pipeline.schedule") own = "strategy.pipeline_schedule=" + value;
    else if (path == "schedule.rematerialise" && !strategy.recompute.empty())
      own = "strategy.recompute=" + recompute_of(value);
    else if (path == "schedule.microbatches" && strategy.microbatch_size > 0) {
      const int64_t rows = batch_size(config) / (std::stoll(value) * strategy.replicas());
      if (rows == 0) return {};
      own = fmt::format("strategy.microbatch_size={}", rows);
    } else own += "=" + value;
    list.push_back(std::move(own));
  }
  return list;
}

}  // namespace shardscope
