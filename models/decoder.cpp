#include "models/decoder.h"

#include <numeric>

#include "engine/ops/equation.h"
#include "engine/ops/scale.h"
#include "engine/ops/soft_cap.h"
#include "engine/ops/split.h"
#include "models/decoder_attention.h"
#include "models/decoder_context.h"
#include "models/decoder_experts.h"
#include "models/decoder_feed_forward.h"
#include "models/decoder_latent_attention.h"
#include "models/decoder_norm.h"
#include "models/losses.h"

namespace shardscope {

namespace {

ValueId residual(const DecoderModule& module, ValueId x, ValueId y, const char* leaf) {
  return module.module().add(x, y, leaf);
}

ValueId normalise(const DecoderModule& layer, bool here, const std::string& name, ValueId x) {
  return here ? decoder_norm(layer.child(name), x, "embed") : x;
}

ValueId decoder_layer(const DecoderModule& module, ValueId x, const DecoderLayer& layer) {
  const DecoderOptions& o = module.options();
  const bool before = o.placement != NormPlacement::after, after = o.placement != NormPlacement::before;
  ValueId y = normalise(module, before, o.names.attention_norm, x);
  const DecoderModule attention = module.child(o.names.attention);
  y = o.latent ? decoder_latent_attention(attention, y, layer) : decoder_attention(attention, y, layer);
  y = normalise(module, after, o.names.after_attention_norm, y);
  x = residual(module, x, y, "add_attention");
  y = normalise(module, before, o.names.feed_forward_norm, x);
  const DecoderModule feed_forward = module.child(o.names.feed_forward);
  y = layer.experts ? decoder_experts(feed_forward, y) : decoder_feed_forward(feed_forward, y, o.inner);
  y = normalise(module, after, o.names.after_feed_forward_norm, y);
  return residual(module, x, y, "add_feed_forward");
}

// x (b, s, e) plus the first s rows of a table.
ValueId add_positions(const DecoderModule& module, ValueId x, int64_t length) {
  const DecoderOptions& o = module.options();
  ValueId table = module.weight({o.positions, o.width}, {"length", "embed"});
  if (length < o.positions) {
    table = module.module().append_all("split", {table}, SplitAttributes{0, {length, o.positions - length}})[0];
  }
  return module.module().add(x, in_zigzag(module, table, 0, "zigzag"));
}

}  // namespace

Graph build_decoder(const DecoderOptions& options, const ModelContext& context, int64_t length, DType compute) {
  Graph graph;
  const auto [tokens, labels] = add_tokens_and_labels(graph, context.batch_size, length, options.vocabulary);
  for (ValueId value : {tokens, labels}) graph.values[value].logical = {"batch", "length"};
  const DecoderModule model(graph, options, context.seed, compute);
  const DecoderNames& names = options.names;
  const ValueId ordered = in_zigzag(model, tokens, 1, "zigzag_tokens");
  const ValueId targets = in_zigzag(model, labels, 1, "zigzag_labels");

  const DecoderModule embedding = model.child(names.token_embedding);
  const ValueId table = embedding.weight({options.vocabulary, options.width}, {"vocab", "embed"});
  ValueId x = embedding.module().append("embedding", {ordered, table});
  graph.values[x].logical = {"batch", "length", "embed"};
  if (options.embedding_scale != 1) {
    x = embedding.module().append("scale", {x}, ScaleAttributes{options.embedding_scale});
  }
  if (options.learned_positions) x = add_positions(model.child(names.position_embedding), x, length);
  std::vector<int> layers = context.layers;
  if (layers.empty()) {
    layers.resize(options.layers.size());
    std::iota(layers.begin(), layers.end(), 0);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const PlaceScope place(graph, static_cast<int>(i));
    const DecoderModule layer = model.child(names.layers).child(std::to_string(layers[i]));
    x = decoder_layer(layer, x, options.layers[static_cast<size_t>(layers[i])]);
  }
  x = decoder_norm(model.child(names.final_norm), x, "embed");
  const DecoderModule head = model.child(names.head);
  const ValueId weight = options.tied ? table : head.weight({options.vocabulary, options.width}, {"vocab", "embed"});
  ValueId logits = head.module().product(x, weight, "bse,ve->bsv");
  logits = head.module().cast(logits, DType::f32);
  if (options.logit_cap > 0) logits = head.module().append("soft_cap", {logits}, SoftCapAttributes{options.logit_cap});
  CrossEntropy loss = mean_cross_entropy(graph, logits, targets);
  const bool balances = options.experts.balance > 0 && !graph.expert_counts.empty();
  const ValueId balance = balances ? balance_loss(model) : no_id;
  if (balances) {
    const ValueId share = model.module().append("scale", {balance}, ScaleAttributes{options.experts.balance}, "share");
    loss.loss = model.module().append("add", {loss.loss, share}, sum_attributes(graph.type(share)), "add_aux_loss");
  }
  set_outputs(graph, logits, loss);
  if (balances) graph.outputs["aux_loss"] = balance;
  return graph;
}

}  // namespace shardscope
