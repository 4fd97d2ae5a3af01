#include "engine/plan/expert_load.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

double ExpertLoad::total() const { return std::accumulate(tokens.begin(), tokens.end(), 0.0); }

double ExpertLoad::imbalance() const {
  const double all = total();
  return all > 0 ? std::ranges::max(tokens) * static_cast<double>(tokens.size()) / all : 0;
}

size_t load_numbers(std::span<const ExpertLayer> layers) {
  size_t count = 0;
  for (const ExpertLayer& layer : layers) count += static_cast<size_t>(layer.experts) + 1;
  return count;
}

std::vector<ExpertLoad> expert_loads(std::span<const ExpertLayer> layers, std::span<const float> numbers) {
  std::vector<ExpertLoad> loads;
  for (const ExpertLayer& layer : layers) {
    const auto experts = numbers.first(static_cast<size_t>(layer.experts));
    numbers = numbers.subspan(experts.size());
    loads.push_back({layer.name, {experts.begin(), experts.end()}, numbers.front()});
    numbers = numbers.subspan(1);
  }
  return loads;
}

double largest_imbalance(std::span<const ExpertLoad> loads) {
  double largest = 0;
  for (const ExpertLoad& load : loads) largest = std::max(largest, load.imbalance());
  return largest;
}

double dropped_tokens(std::span<const ExpertLoad> loads) {
  double all = 0;
  for (const ExpertLoad& load : loads) all += load.dropped;
  return all;
}

}  // namespace shardscope
