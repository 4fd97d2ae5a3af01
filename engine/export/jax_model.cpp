#include "engine/export/jax_model.h"

namespace shardscope {

namespace {

const std::vector<const JaxModel*>& all() {
  static const std::vector<const JaxModel*> models{
      &jax_decoder_only_transformer(), &jax_tiny_lm(),     &jax_nnx_gpt2(),
      &jax_mintext_transformer(),      &jax_mintext_mlp(), &jax_logical_dot_relu_dot(),
      &jax_tensor_parallel_mlp(),      &jax_sequential(),  &jax_workshop_transformer()};
  return models;
}

}  // namespace

const JaxModel* find_jax_model(std::string_view name) {
  for (const JaxModel* model : all()) {
    if (model->name == name) return model;
  }
  return nullptr;
}

std::vector<std::string_view> jax_model_names() {
  std::vector<std::string_view> names;
  for (const JaxModel* model : all()) names.push_back(model->name);
  return names;
}

}  // namespace shardscope
