#include "models/decoder_attention.h"

#include "engine/ops/attention.h"
#include "engine/ops/clip.h"
#include "models/decoder_context.h"
#include "models/decoder_norm.h"

namespace shardscope {

namespace {

// Queries, keys or values: the linear layer that makes them, and what they are called.
struct Heads {
  LinearLayer layer;
  int64_t count;
  std::string logical;  // "heads" or "kv_heads"
};

const std::vector<std::string> head_dimensions(const Heads& heads) { return {"batch", "length", heads.logical, "kv"}; }

Heads own_heads(const DecoderModule& module, int64_t count, const std::string& logical) {
  const DecoderOptions& o = module.options();
  const int64_t size = count * o.head_size;
  const LinearWeight weight = module.linear_weight(o.width, "embed", size, logical);
  return {{weight, o.head_bias ? module.constant("bias", 0, {size}, {logical}) : no_id}, count, logical};
}

// Queries, keys and values of one parameter.
std::vector<Heads> joined_heads(const DecoderModule& module) {
  const DecoderOptions& o = module.options();
  const std::vector<int64_t> counts{o.heads, o.key_heads, o.key_heads};
  LinearOutputs outputs{{}, {"heads", "kv_heads", "kv_heads"}};
  for (const int64_t count : counts) outputs.sizes.push_back(count * o.head_size);
  const std::vector<LinearLayer> layers = module.joined_layers(o.width, "embed", outputs, o.head_bias);
  std::vector<Heads> heads;
  for (size_t i = 0; i < counts.size(); ++i) heads.push_back({layers[i], counts[i], outputs.names[i]});
  return heads;
}

// x (b, s, e) -> (b, s, heads, head_size).
ValueId project(const DecoderModule& module, ValueId x, const Heads& heads) {
  const Module& ops = module.module();
  const std::vector<std::pair<char, int64_t>> sizes{{'h', heads.count}};
  const ValueId y = module.multiply(x, heads.layer.weight, {"bse", "e", "(hd)", "bshd"}, sizes, head_dimensions(heads));
  if (heads.layer.bias == no_id) return y;
  const ValueId bias =
      ops.append("rearrange", {heads.layer.bias}, EquationAttributes{"(hd)->hd", sizes}, "bias_of_heads");
  module.graph().values[bias].logical = {heads.logical, "kv"};
  return ops.add(y, bias);
}

// The same, normalised over all heads before it is cut into them.
ValueId project_normalised(const DecoderModule& module, const DecoderModule& norm, ValueId x, const Heads& heads) {
  ValueId y = module.linear(x, heads.layer.weight, heads.layer.bias);
  y = decoder_norm(norm, y, heads.logical);
  y = module.module().append("rearrange", {y}, EquationAttributes{"bs(hd)->bshd", {{'h', heads.count}}}, "to_heads");
  module.graph().values[y].logical = head_dimensions(heads);
  return y;
}

}  // namespace

ValueId decoder_attention(const DecoderModule& module, ValueId x, const DecoderLayer& layer) {
  const DecoderOptions& o = module.options();
  const Module& ops = module.module();
  const std::vector<std::string> names{o.names.query, o.names.key, o.names.value};
  const std::vector<std::string> norms{o.names.query_norm, o.names.key_norm};
  std::vector<Heads> heads;
  if (!o.names.joined_heads.empty()) {
    heads = joined_heads(module.child(o.names.joined_heads));
  } else {
    heads = {own_heads(module.child(names[0]), o.heads, "heads"),
             own_heads(module.child(names[1]), o.key_heads, "kv_heads"),
             own_heads(module.child(names[2]), o.key_heads, "kv_heads")};
  }
  std::vector<ValueId> operands;
  for (size_t i = 0; i < 3; ++i) {
    const DecoderModule of = module.child(names[i]);
    const bool normalised = i < 2 && o.head_norm != HeadNorm::none;
    ValueId y = normalised && o.head_norm == HeadNorm::whole
                    ? project_normalised(of, module.child(norms[i]), x, heads[i])
                    : project(of, x, heads[i]);
    if (o.head_clip > 0) y = of.module().append("clip", {y}, ClipBoundsAttributes{-o.head_clip, o.head_clip});
    if (normalised && o.head_norm == HeadNorm::head) y = decoder_norm(module.child(norms[i]), y, "kv");
    if (i < 2 && layer.rotary) y = turn_by_position(of, y, *layer.rotary);
    operands.push_back(y);
  }
  AttentionAttributes attributes{true, {}};
  attributes.scale = layer.scale;
  attributes.window = layer.window;
  attributes.soft_cap = o.score_cap;
  attributes.slopes = o.slopes;
  const std::vector<ValueId> attended = attend(module, operands, attributes);
  ValueId context = attended[0];
  if (o.sinks) {
    const PlaceScope place(module.graph(), LayerPart::attention);
    const ValueId sinks = module.weight({o.heads}, {"heads"}, "sinks");
    context = ops.append("attention_sink", {context, attended[1], sinks});
  }
  const DecoderModule output = module.child(o.names.output);
  const LinearWeight weight = output.linear_weight(o.heads * o.head_size, "heads", o.width, "embed");
  const ValueId y = output.multiply(context, weight, {"bshd", "(hd)", "e", "bse"}, {{'h', o.heads}});
  return o.output_bias ? output.module().add(y, output.constant("bias", 0, {o.width}, {"embed"})) : y;
}

}  // namespace shardscope
