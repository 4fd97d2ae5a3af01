#include "models/decoder_latent_attention.h"

#include <algorithm>

#include "engine/ops/attention.h"
#include "engine/ops/split.h"
#include "models/decoder_context.h"
#include "models/decoder_norm.h"

namespace shardscope {

namespace {

const DecoderNorm norm_of_rows{};  // RMS, epsilon 1e-6, whatever the config says

// x (b, s, i) -> (b, s, rank), with a bias where the options say so.
ValueId make_rows(const DecoderModule& module, ValueId x, int64_t rank) {
  const LinearWeight weight = module.linear_weight(module.options().width, "embed", rank, "");
  return module.linear(x, weight, module.options().latent->bias ? module.constant("bias", 0, {rank}, {""}) : no_id);
}

// Rows (b, s, i) -> (b, s, heads, size).
ValueId make_heads(const DecoderModule& module, ValueId rows, const std::string& row_name, int64_t size) {
  const int64_t heads = module.options().heads, in = module.graph().type(rows).shape[2];
  const LinearWeight weight = module.linear_weight(in, row_name, heads * size, "heads");
  return module.multiply(rows, weight, {"bsi", "i", "(hd)", "bshd"}, {{'h', heads}},
                         {"batch", "length", "heads", "kv"});
}

std::vector<ValueId> split_last(const DecoderModule& module, ValueId x, int64_t first, int64_t second) {
  const auto last = static_cast<int>(module.graph().type(x).shape.size()) - 1;
  return module.module().append_all("split", {x}, SplitAttributes{last, {first, second}});
}

ValueId join_last(const DecoderModule& module, ValueId x, ValueId y, const char* leaf) {
  const Graph& graph = module.graph();
  const SplitAttributes sizes{3, {graph.type(x).shape[3], graph.type(y).shape[3]}};
  return module.module().append("concatenate", {x, y}, sizes, leaf);
}

ValueId turned_by(const DecoderModule& module, ValueId x, const DecoderLayer& layer) {
  return layer.rotary ? turn_by_position(module, x, *layer.rotary) : x;
}

// One row (b, s, d) of each position for all heads, turned: (b, s, heads, d).
ValueId spread_turned(const DecoderModule& module, ValueId rows, const DecoderLayer& layer) {
  const Module& ops = module.module();
  Graph& graph = module.graph();
  const ValueId one = ops.append("rearrange", {rows}, EquationAttributes{"bs(hd)->bshd", {{'h', 1}}}, "as_head");
  const ValueId turned =
      ops.append("rearrange", {turned_by(module, one, layer)}, EquationAttributes{"bshd->bs(hd)"}, "as_row");
  Shape shape = graph.type(one).shape;
  shape[2] = module.options().heads;
  const ValueId zeros = module.filled(0, {shape, DType::f32}, "zeros");
  graph.values[zeros].logical = {"batch", "length", "heads", "kv"};
  return ops.append("add", {zeros, turned}, EquationAttributes{"bshd,bsd->bshd"}, "for_all_heads");
}

ValueId fill_up(const DecoderModule& module, ValueId x, int64_t size, const char* leaf) {
  Shape shape = module.graph().type(x).shape;
  if (shape[3] == size) return x;
  shape[3] = size - shape[3];
  const ValueId zeros = module.filled(0, {shape, DType::f32}, std::string(leaf) + "/zeros");
  module.graph().values[zeros].logical = module.graph().values[x].logical;
  return join_last(module, x, zeros, leaf);
}

}  // namespace

ValueId decoder_latent_attention(const DecoderModule& module, ValueId x, const DecoderLayer& layer) {
  const DecoderOptions& o = module.options();
  const DecoderLatent& latent = *o.latent;
  const int64_t key_size = latent.plain + latent.rotary, size = std::max(key_size, latent.value);

  ValueId query = x;
  if (latent.query_rank > 0) {
    query = make_rows(module.child("q_a_proj"), x, latent.query_rank);
    query = decoder_norm(module.child("q_a_layernorm"), norm_of_rows, query, "");
  }
  query = latent.query_rank > 0 ? make_heads(module.child("q_b_proj"), query, "", key_size)
                                : make_heads(module.child("q_proj"), query, "embed", key_size);
  const DecoderModule queries = module.child("query"), keys = module.child("key");
  const std::vector<ValueId> parts = split_last(queries, query, latent.plain, latent.rotary);
  query = join_last(queries, parts[0], turned_by(queries, parts[1], layer), "concatenate");

  const ValueId made = make_rows(module.child("kv_a_proj_with_mqa"), x, latent.rank + latent.rotary);
  const std::vector<ValueId> rows = split_last(module.child("kv_a_proj_with_mqa"), made, latent.rank, latent.rotary);
  const ValueId normalised = decoder_norm(module.child("kv_a_layernorm"), norm_of_rows, rows[0], "");
  const ValueId both = make_heads(module.child("kv_b_proj"), normalised, "", latent.plain + latent.value);
  const std::vector<ValueId> plain = split_last(keys, both, latent.plain, latent.value);
  const ValueId key = join_last(keys, plain[0], spread_turned(keys, rows[1], layer), "concatenate");

  AttentionAttributes attributes{true, {}};
  attributes.scale = layer.scale;
  ValueId context = attend(module,
                           {fill_up(queries, query, size, "fill_up"), fill_up(keys, key, size, "fill_up"),
                            fill_up(module.child("value"), plain[1], size, "fill_up")},
                           attributes)[0];
  if (latent.value < size) context = split_last(module, context, latent.value, size - latent.value)[0];
  const DecoderModule output = module.child("o_proj");
  const LinearWeight weight = output.linear_weight(o.heads * latent.value, "heads", o.width, "embed");
  const ValueId y = output.multiply(context, weight, {"bshd", "(hd)", "e", "bse"}, {{'h', o.heads}});
  return latent.bias ? output.module().add(y, output.constant("bias", 0, {o.width}, {"embed"})) : y;
}

}  // namespace shardscope
