#include "models/compute_dtype.h"

namespace shardscope {

OptionDefinition compute_dtype_option() {
  return {"compute_dtype", std::string("f32"), false, 0, 0, "type of matrix products: f32 or bf16"};
}

std::vector<Error> check_dtype(const OptionList& options, const std::string& name) {
  const std::string& text = string_option(options, name);
  if (text == "f32" || text == "bf16") return {};
  return {{"unknown_dtype", "cannot compute in '" + text + "'", "model." + name, "\"f32\" or \"bf16\""}};
}

std::vector<Error> check_compute_dtype(const OptionList& options) { return check_dtype(options, "compute_dtype"); }

DType dtype_option(const OptionList& options, const std::string& name) {
  return string_option(options, name) == "bf16" ? DType::bf16 : DType::f32;
}

DType compute_dtype(const OptionList& options) { return dtype_option(options, "compute_dtype"); }

}  // namespace shardscope
