#include "models/registry.h"

namespace shardscope {

const std::vector<ModelDefinition>& all_models() {
  static const std::vector<ModelDefinition> models = model_definitions();
  return models;
}

const ModelDefinition* find_model(const std::string& name) {
  for (const ModelDefinition& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace shardscope
