#include "models/registry.h"

#include "models/decoder_only_transformer.h"
#include "models/huggingface.h"
#include "models/logical_dot_relu_dot.h"
#include "models/mintext_mlp.h"
#include "models/mintext_transformer.h"
#include "models/nnx_gpt2.h"
#include "models/sequential.h"
#include "models/tensor_parallel_mlp.h"
#include "models/tiny_lm.h"
#include "models/workshop_transformer.h"

namespace shardscope {

const std::vector<ModelDefinition>& all_models() {
  static const std::vector<ModelDefinition> models{decoder_only_transformer(),
                                                   huggingface(),
                                                   logical_dot_relu_dot(),
                                                   mintext_mlp(),
                                                   mintext_transformer(),
                                                   nnx_gpt2(),
                                                   sequential(),
                                                   tensor_parallel_mlp(),
                                                   tiny_lm(),
                                                   workshop_transformer()};
  return models;
}

const ModelDefinition* find_model(const std::string& name) {
  for (const ModelDefinition& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace shardscope
