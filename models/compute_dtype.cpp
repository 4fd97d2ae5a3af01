#include "models/compute_dtype.h"

namespace shardscope {

OptionDefinition dtype_option(const std::string& name, const std::string& help) {
  return {name, std::string("f32"), false, 0, 0, help, {"f32", "bf16"}};
}

DType dtype_of(const OptionList& options, const std::string& name) {
  for (DType dtype : {DType::bf16, DType::f16, DType::f8}) {
    if (string_option(options, name) == shardscope::name(dtype)) return dtype;
  }
  return DType::f32;
}

OptionDefinition compute_dtype_option() { return dtype_option("compute_dtype", "type of matrix products"); }

DType compute_dtype(const OptionList& options) { return dtype_of(options, "compute_dtype"); }

void set_compute_dtype(OptionList& options, DType dtype) {
  for (auto& [name, value] : options) {
    if (name == "compute_dtype") value = std::string(shardscope::name(dtype));
  }
}

}  // namespace shardscope
