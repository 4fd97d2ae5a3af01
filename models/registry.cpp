#include "models/registry.h"

#include "models/decoder_only_transformer.h"
#include "models/nnx_gpt2.h"
#include "models/tiny_lm.h"

namespace shardscope {

const std::vector<ModelDefinition>& all_models() {
  static const std::vector<ModelDefinition> models{decoder_only_transformer(), nnx_gpt2(), tiny_lm()};
  return models;
}

const ModelDefinition* find_model(const std::string& name) {
  for (const ModelDefinition& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace shardscope
