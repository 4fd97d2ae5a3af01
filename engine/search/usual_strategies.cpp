#include "engine/search/usual_strategies.h"

#include <algorithm>
#include <tuple>

#include "engine/search/candidates.h"

namespace shardscope {

namespace {

constexpr int64_t most_context = 8;

}  // namespace

int64_t devices_of_node(const Machine& machine) {
  const std::vector<Level>& levels = machine.levels;
  return levels.empty() || levels.front().count.empty() ? 1 : std::max(1, levels.front().count.front());
}

bool is_usual(const StrategyConfig& s, const Machine& machine) {
  const bool splits_states = s.pipeline == 1 ? s.data == 1 : s.fsdp == 1 && s.zero == (has_zero_stages(s) ? 1 : 0);
  return splits_states && s.tensor <= devices_of_node(machine) && s.sequence_parallel == (s.tensor > 1) &&
         s.context <= most_context && (s.pipeline_schedule == "1f1b" || s.pipeline_schedule == "zero_bubble") &&
         s.order.empty();
}

bool is_frugal(const StrategyConfig& s) {
  return s.pipeline_schedule == "1f1b" && s.recompute == "full" && s.context == 1 && s.virtual_stages == 1 &&
         s.microbatch_size == 1;
}

bool has_equal_layers(const StrategyConfig& a, const StrategyConfig& b) {
  const auto layers = [](const StrategyConfig& s) {
    return std::tuple(s.tensor, s.context, s.expert, s.microbatch_size, s.recompute);
  };
  return a.virtual_stages == 1 && layers(a) == layers(b);
}

std::pair<int64_t, int64_t> split_of_replica(const StrategyConfig& s) {
  return {s.pipeline * s.tensor * s.context, -s.expert};
}

}  // namespace shardscope
