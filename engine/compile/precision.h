#pragma once

#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/shape.h"
#include "engine/config/run_config.h"

namespace shardscope {

// In what types a training computes and stores.
struct TrainingTypes {
  DType compute = DType::f32;     // of operands of products, and of rows sent to experts; all else is computed in f32
  DType parameters = DType::f32;  // as they are stored, and sent to other devices
  std::optional<DType> master;    // of the copy that the optimizer updates; the parameter is its rounded value
  DType gradients = DType::f32;   // also while they add up over microbatches
  DType reduction = DType::f32;   // that products give gradients in, to be summed over devices
  DType moments = DType::f32;     // of the optimizer's state
  bool operator==(const TrainingTypes&) const = default;

  // Whether a graph of f32 parameters, whose gradients products give in their own type, is not what this says.
  bool retype() const;
};

// What the recipes mean (compute, parameters, master, gradients, reduction, moments):
//   f32         f32   f32   none  f32   f32   f32
//   bf16        bf16  bf16  none  bf16  bf16  bf16
//   bf16_mixed  bf16  bf16  f32   f32   f32   f32
//   f16_mixed   f16   f16   f32   f32   f32   f32
//   fp8_mixed   f8    bf16  f32   f32   f32   f32
// Without a recipe: compute is `compute` where the file does not say (the model's option, or its config's type),
// parameters are f32, there is no master copy, gradients are of the type of parameters, moments of that of the master
// copy, else of parameters, and reduction is the type of the products' results. Appends to `errors` what contradicts
// itself, with places such as "precision.master".
TrainingTypes training_types(const PrecisionConfig& config, DType compute, std::vector<Error>& errors);

// Why nothing trains in these types: no kernel computes in f16 and f8. Nothing where ranks can.
std::optional<Error> refusal_to_train(const TrainingTypes& types);

}  // namespace shardscope
