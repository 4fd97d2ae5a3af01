#include "models/decoder_feed_forward.h"

#include <tuple>

namespace shardscope {

namespace {

ValueId bias_of(const DecoderModule& module, int64_t size, const std::string& logical) {
  return module.options().inner_bias ? module.constant("bias", 0, {size}, {logical}) : no_id;
}

ValueId up_layer(const DecoderModule& module, ValueId x, int64_t inner) {
  const DecoderOptions& o = module.options();
  const LinearWeight weight = module.linear_weight(o.width, "embed", inner, "mlp");
  return module.linear(x, weight, bias_of(module, inner, "mlp"));
}

// Gate and up of one parameter, without biases.
std::pair<ValueId, ValueId> joined_gate(const DecoderModule& module, ValueId x, int64_t inner) {
  const std::vector<LinearLayer> layers =
      module.joined_layers(module.options().width, "embed", {{inner, inner}, {"mlp", "mlp"}}, false);
  return {module.child("gate").linear(x, layers[0].weight, no_id),
          module.child("up").linear(x, layers[1].weight, no_id)};
}

}  // namespace

ValueId activate(const Module& ops, ValueId x, const Activation& activation) {
  const ValueId y = ops.append(activation.op, {x});
  return activation.squared ? ops.append("multiply", {y, y}, {}, "square") : y;
}

ValueId decoder_feed_forward(const DecoderModule& module, ValueId x, int64_t inner) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  const DecoderOptions& o = module.options();
  const Module& ops = module.module();
  ValueId between = no_id;
  if (!o.gated) {
    between = activate(ops, up_layer(module.child(o.names.up), x, inner), o.activation);
  } else {
    ValueId gate = no_id, up = no_id;
    if (o.names.joined_gate.empty()) {
      gate = up_layer(module.child(o.names.gate), x, inner);
      up = up_layer(module.child(o.names.up), x, inner);
    } else {
      std::tie(gate, up) = joined_gate(module.child(o.names.joined_gate), x, inner);
    }
    between = ops.append("multiply", {activate(ops, gate, o.activation), up});
  }
  const DecoderModule down = module.child(o.names.down);
  const LinearWeight weight = down.linear_weight(inner, "mlp", o.width, "embed");
  return down.linear(between, weight, bias_of(down, o.width, "embed"));
}

}  // namespace shardscope
