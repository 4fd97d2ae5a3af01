#pragma once

#include <string>

#include "engine/base/options.h"
#include "engine/base/shape.h"

namespace shardscope {

// An option of models that is a type: "f32" (the default) or "bf16".
OptionDefinition dtype_option(const std::string& name, const std::string& help);
DType dtype_of(const OptionList& options, const std::string& name);

// The option "compute_dtype": "f32", or "bf16" for mixed precision: matrix products in bf16 (sums in f32), with norms,
// softmax, loss and residual stream in f32. A run's precision takes its place, which may also be f16 or f8.
OptionDefinition compute_dtype_option();
DType compute_dtype(const OptionList& options);
void set_compute_dtype(OptionList& options, DType dtype);

}  // namespace shardscope
