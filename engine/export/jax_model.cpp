#include "engine/export/jax_model.h"

#include <algorithm>

namespace shardscope {

namespace {

const std::vector<JaxModel>& all() {
  static const std::vector<JaxModel> models = jax_models();
  return models;
}

}  // namespace

const JaxModel* find_jax_model(std::string_view name) {
  const auto found = std::ranges::find(all(), name, &JaxModel::name);
  return found == all().end() ? nullptr : &*found;
}

std::vector<std::string_view> jax_model_names() {
  std::vector<std::string_view> names;
  for (const JaxModel& model : all()) names.push_back(model.name);
  return names;
}

}  // namespace shardscope
