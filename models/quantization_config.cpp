#include "models/quantization_config.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr double block_size = 128;

void read_fp8(ModelConfig& method) {
  method.without_effect({"activation_scheme", "modules_to_not_convert", "ignored_layers", "scale_fmt", "dequantize"});
  method.text("fmt", "e4m3", {"e4m3"});
  const std::optional<std::vector<double>> blocks = method.numbers("weight_block_size", 2, 1, 1e6);
  if (!method.is_null("weight_block_size") && (!blocks || *blocks == std::vector<double>{block_size, block_size}))
    return;
  method.fail("weight_block_size", "unknown_choice", "scales of other blocks, or of whole arrays, are not read",
              "[128, 128]");
}

}  // namespace

void read_quantization(ModelConfig& config) {
  const std::string field = "quantization_config";
  if (config.ignores(field)) return;
  std::optional<ModelConfig> method = config.object(field);
  if (!method) return;
  const std::string name = method->text("quant_method", "", {"fp8", "mxfp4"});
  if (name.empty()) {
    if (!method->says("quant_method")) {
      method->fail("quant_method", "missing_key", "'quant_method' is missing", "fp8 or mxfp4");
    }
    return;
  }
  if (name == "fp8") read_fp8(*method);
  else method->without_effect({"modules_to_not_convert", "dequantize"});
  method->finish();
}

}  // namespace shardscope
