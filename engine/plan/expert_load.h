#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

// A layer of experts: where a rank finds what they got in a step.
struct ExpertLayer {
  std::string name;  // "model/layers/0/mlp"
  int64_t experts = 0;
  std::vector<int> chosen;   // program values, one of each stage: f32 (experts), replicated
  std::vector<int> dropped;  // the same, scalars; empty where every choice has room
};

// What the experts of a layer got in a step, over all its tokens, microbatches and ranks. A token counts once for each
// expert that it chooses.
struct ExpertLoad {
  std::string layer;
  std::vector<double> tokens;  // by expert: that chose it, those dropped too
  double dropped = 0;          // choices that found no room (model.capacity_factor)

  double total() const;
  double imbalance() const;  // tokens of the busiest expert over the mean: 1 where all are even; 0 without tokens
  bool operator==(const ExpertLoad&) const = default;
};

// The numbers of a step one after the other: of each layer its experts', then what it dropped.
size_t load_numbers(std::span<const ExpertLayer> layers);
// `numbers` are as many.
std::vector<ExpertLoad> expert_loads(std::span<const ExpertLayer> layers, std::span<const float> numbers);

// Metrics of a step: of the layer that is least even, and of all layers.
inline constexpr std::string_view expert_imbalance_metric = "expert_imbalance",
                                  dropped_tokens_metric = "dropped_tokens";
double largest_imbalance(std::span<const ExpertLoad> loads);
double dropped_tokens(std::span<const ExpertLoad> loads);

}  // namespace shardscope
