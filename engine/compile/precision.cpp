#include "engine/compile/precision.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

DType type_named(const std::string& text, DType otherwise) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f8}) {
    if (text == name(dtype)) return dtype;
  }
  return otherwise;
}

DType result_of_products(DType operands) { return operands == DType::f8 ? DType::bf16 : operands; }

TrainingTypes types_of_recipe(const std::string& recipe) {
  TrainingTypes types;
  if (recipe == "bf16") {
    types.compute = types.parameters = types.gradients = types.reduction = types.moments = DType::bf16;
  } else if (recipe != "f32") {
    types.compute = recipe == "f16_mixed" ? DType::f16 : recipe == "fp8_mixed" ? DType::f8 : DType::bf16;
    types.parameters = result_of_products(types.compute);
    types.master = DType::f32;
  }
  return types;
}

}  // namespace

bool TrainingTypes::retype() const {
  return parameters != DType::f32 || gradients != DType::f32 || reduction != result_of_products(compute);
}

TrainingTypes training_types(const PrecisionConfig& config, DType compute, std::vector<Error>& errors) {
  if (!config.recipe.empty()) return types_of_recipe(config.recipe);
  TrainingTypes types;
  types.compute = type_named(config.compute, compute);
  types.parameters = type_named(config.parameters, DType::f32);
  if (config.master == "f32") types.master = DType::f32;
  const DType products = result_of_products(types.compute);
  types.gradients = type_named(config.gradients, types.parameters);
  types.reduction = type_named(config.reduction, products);
  types.moments = type_named(config.moments, types.master.value_or(types.parameters));
  if (types.master && types.parameters == DType::f32) {
    errors.push_back({"precision", "a master copy of parameters that are f32 themselves", "precision.master",
                      "\"none\", or narrower parameters, such as \"parameters\": \"bf16\""});
  }
  if (types.reduction != products && types.reduction != DType::f32) {
    errors.push_back(
        {"precision",
         fmt::format("gradients summed in {}, where products give {}", name(types.reduction), name(products)),
         "precision.reduction", fmt::format("\"f32\" or \"{}\"", name(products))});
  } else if (types.gradients != types.reduction && types.gradients != DType::f32 && types.reduction != DType::f32) {
    errors.push_back(
        {"precision",
         fmt::format("gradients kept in {}, where they are summed in {}", name(types.gradients), name(types.reduction)),
         "precision.gradients", fmt::format("\"f32\" or \"{}\", or \"reduction\": \"f32\"", name(types.reduction))});
  }
  return types;
}

std::optional<Error> refusal_to_train(const TrainingTypes& types) {
  for (DType dtype : {types.compute, types.parameters, types.gradients, types.reduction, types.moments}) {
    if (dtype == DType::f32 || dtype == DType::bf16) continue;
    return Error{"planned_only", fmt::format("runs in {} are planned, and not trained", name(dtype)), "precision",
                 "\"bf16_mixed\", \"bf16\" or \"f32\""};
  }
  return std::nullopt;
}

}  // namespace shardscope
