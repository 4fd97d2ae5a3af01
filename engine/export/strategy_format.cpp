#include "engine/export/strategy_format.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/compile/layer_count.h"
#include "engine/config/strategy.h"

namespace shardscope {

PortableStrategy portable_strategy(const RunConfig& config) {
  if (!config.strategy) {
    throw Failure(Error{"no_strategy", "the run file has no strategy that other programs could be given", "strategy",
                        R"(in place of mesh and sharding, such as {"data": 4, "tensor": 2})"});
  }
  PortableStrategy result{*config.strategy, 0, layer_count(config)};
  StrategyConfig& strategy = result.strategy;
  if (const OptionValue* rows = config.data.find("batch_size")) {
    if (const auto* batch = std::get_if<int64_t>(rows)) result.batch_size = *batch;
  }
  if (strategy.microbatch_size == 0)
    strategy.microbatch_size =
        std::max<int64_t>(1, result.batch_size / strategy.replicas() / config.schedule.microbatches);
  if (strategy.recompute.empty()) strategy.recompute = recompute_of(config.schedule.rematerialise);
  const int64_t within_a_replica = strategy.expert * strategy.context;
  if (strategy.zero == 3 && within_a_replica == 1) {
    std::swap(strategy.fsdp, strategy.data);
    std::erase(strategy.order, "fsdp");
    std::ranges::replace(strategy.order, std::string("data"), std::string("fsdp"));
    strategy.zero = 0;
  }
  if (strategy.data * within_a_replica == 1) strategy.zero = 0;
  if (strategy.tensor == 1) strategy.sequence_parallel = false;
  if (strategy.pipeline == 1) strategy.pipeline_schedule = "1f1b";
  if (strategy.virtual_stages > 1 && strategy.pipeline_schedule == "interleaved") strategy.pipeline_schedule = "1f1b";
  std::vector<std::string> usual = default_order();
  for (std::vector<std::string>* order : {&strategy.order, &usual})
    std::erase_if(*order, [&](const std::string& axis) { return degree(strategy, axis) == 1; });
  if (strategy.order == usual) strategy.order.clear();
  return result;
}

const std::vector<StrategyFormat>& strategy_formats() {
  static const std::vector<StrategyFormat> formats = {megatron_strategy(), torchtitan_strategy(), maxtext_strategy(),
                                                      deepspeed_strategy()};
  return formats;
}

const StrategyFormat* find_strategy_format(const std::string& name) {
  const auto at = std::ranges::find(strategy_formats(), name, &StrategyFormat::name);
  return at == strategy_formats().end() ? nullptr : &*at;
}

}  // namespace shardscope
