#pragma once

#include <vector>

#include "engine/base/options.h"
#include "engine/base/shape.h"

namespace shardscope {

// The option "compute_dtype" of models: "f32", or "bf16" for mixed precision: matrix products in bf16 (sums in f32),
// with norms, softmax, loss, residual stream and stored parameters in f32.
OptionDefinition compute_dtype_option();
// A fault at model.compute_dtype, or at another option of that kind, where it is neither.
std::vector<Error> check_compute_dtype(const OptionList& options);
std::vector<Error> check_dtype(const OptionList& options, const std::string& name);
DType compute_dtype(const OptionList& options);
DType dtype_option(const OptionList& options, const std::string& name);

}  // namespace shardscope
