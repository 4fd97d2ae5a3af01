#include "engine/optim/optimizer.h"

namespace shardscope {

const std::vector<OptimizerDefinition>& all_optimizers() {
  static const std::vector<OptimizerDefinition> optimizers{adam_optimizer()};
  return optimizers;
}

const OptimizerDefinition* find_optimizer(const std::string& name) {
  for (const OptimizerDefinition& optimizer : all_optimizers()) {
    if (optimizer.name == name) return &optimizer;
  }
  return nullptr;
}

}  // namespace shardscope
