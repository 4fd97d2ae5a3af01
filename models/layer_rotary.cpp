#include <fmt/format.h>

#include "models/layer_kind.h"
#include "models/rotary_frequencies.h"

namespace shardscope {

namespace {

constexpr const char* rotary_form = "such as \"rotary\", \"rotary heads 4\" or \"rotary heads 4 base 500000\"";

void read_rotary(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const Shape& before = layer.before.shape;
  if (before.size() == 1) {
    fail_layer("'rotary' is of a sequence (length, features) or (length, heads, size), got " + to_string(before),
               "say so in model.input, such as \"16x64\"");
  }
  int64_t heads = 1;
  RotaryScaling scaling;
  for (size_t i = 1; i < words.size(); i += 2) {
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    const std::optional<int64_t> given_heads = size_of(value);
    const std::optional<double> base = real_of(value, 1, 1e12);
    if (words[i] == "heads" && given_heads && before.size() == 2) {
      heads = *given_heads;
    } else if (words[i] == "base" && base) {
      scaling.theta = *base;
    } else {
      fail_layer(fmt::format("'rotary' of {} does not take '{} {}'", to_string(before), words[i], value), rotary_form);
    }
  }
  if (before.back() % (2 * heads) != 0) {
    fail_layer(fmt::format("'rotary' turns pairs of elements of {} heads, got {}", heads, to_string(before)),
               "heads of an even size");
  }
  scaling.size = before.back() / heads;
  layer.build = [heads, cut = before.size() == 2, rotary = rotary_attributes(scaling)](LayerBuilder& builder) {
    const Module& module = builder.module;
    ValueId x = builder.inputs[0];
    if (cut) x = module.append("rearrange", {x}, EquationAttributes{"bs(hd)->bshd", {{'h', heads}}}, "to_heads");
    x = module.append("rotary", {x}, rotary);
    return cut ? module.append("rearrange", {x}, EquationAttributes{"bshd->bs(hd)"}, "from_heads") : x;
  };
}

}  // namespace

// Turned by their positions (engine/ops/rotary.h): a sequence (length, features), or (length, heads, size); "heads 4"
// cuts the features into heads, "base 500000" is not 10000.
LayerKind rotary_layer() { return {"rotary", "\"rotary\"", read_rotary}; }

}  // namespace shardscope
