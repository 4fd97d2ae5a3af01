#include "engine/search/link_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/strategy.h"

namespace shardscope {

std::string order_on_links(const StrategyConfig& strategy, const std::vector<Level>& levels) {
  std::vector<std::string> order = strategy.order.empty() ? default_order() : strategy.order;
  std::erase_if(order, [&](const std::string& axis) { return degree(strategy, axis) == 1; });
  const std::string itself = fmt::format("{}", fmt::join(order, " "));
  std::string key;
  int64_t units = 1, inside = 1;
  for (const Level& level : levels) {
    if (level.kind == LevelKind::torus || level.kind == LevelKind::ring || level.count.size() > 1) return itself;
    if (level.count.empty() || &level == &levels.back()) break;
    units *= level.count.front();
    while (!order.empty() && inside * degree(strategy, order.back()) <= units) {
      inside *= degree(strategy, order.back());
      key += order.back() + " ";
      order.pop_back();
    }
    if (inside != units && !order.empty()) return itself;
  }
  return key;
}

}  // namespace shardscope
