#include "models/compute_dtype.h"

namespace shardscope {

OptionDefinition dtype_option(const std::string& name, const std::string& help) {
  return {name, std::string("f32"), false, 0, 0, help, {"f32", "bf16"}};
}

DType dtype_of(const OptionList& options, const std::string& name) {
  return string_option(options, name) == "bf16" ? DType::bf16 : DType::f32;
}

OptionDefinition compute_dtype_option() { return dtype_option("compute_dtype", "type of matrix products"); }

DType compute_dtype(const OptionList& options) { return dtype_of(options, "compute_dtype"); }

}  // namespace shardscope
