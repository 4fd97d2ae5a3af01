#include "models/decoder_experts.h"

#include "engine/ops/clip.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "engine/ops/stack.h"
#include "models/decoder_feed_forward.h"
#include "models/initialisers.h"
#include "models/sent_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

namespace shardscope {

namespace {

// Kernels (experts, out, in), or (experts, in, out) where they are stored by turns, and biases (experts, out).
struct ExpertLayer {
  ValueId kernels, bias = no_id;
  const char* leaf;
  const char* features;  // logical name of what it gives
};

class Experts {
 public:
  Experts(const DecoderModule& module, ValueId choices)
      : module_(module), options_(module.options()), experts_(options_.experts), choices_(choices) {}

  // How many tokens chose each expert, and what apply() has dropped.
  void count() const {
    const ValueId chosen = ops().append("expert_load", {choices_}, ExpertLoadAttributes{experts_.count}, "load");
    module_.graph().expert_counts.push_back({fmt::format("{}", fmt::join(ops().path(), "/")), chosen, dropped_});
  }

  // x (b, s, e) -> (b, s, k, e), in the type that products give, or f32.
  ValueId apply(ValueId x) {
    const bool travels = options_.blocks.experts > 1 || experts_.capacity_factor > 0;
    if (!travels) return gated_feed_forward(x);
    const auto [blocks, filled] =
        sent_rows(module_.graph().type(choices_).shape, experts_.count, options_.blocks, experts_.capacity_factor);
    filled_ = filled;
    const std::vector<ValueId> counted = ops().append_all("expert_counts", {choices_}, blocks, "counts");
    counts_ = counted[0];
    if (experts_.capacity_factor > 0) dropped_ = counted[1];
    call(counts_, {});
    const ValueId sent = ops().append("dispatch", {ops().as_operand(x, "dispatch"), choices_, counts_}, blocks);
    const ValueId made = ops().as_result(gated_feed_forward(sent), "combine/cast");
    const ValueId back = ops().append("combine", {made, choices_, counts_}, blocks);
    call(back, {"batch", "length", "", "embed"});
    return back;
  }

 private:
  const Module& ops() const { return module_.module(); }

  ValueId gated_feed_forward(ValueId x) const {
    const auto [gate, up] = experts_.by_turns ? gate_and_up_by_turns() : gate_and_up();
    const ValueId inner = gated(in_f32(multiply(x, gate), gate), in_f32(multiply(x, up), up));
    return multiply(inner, down());
  }

  void call(ValueId value, std::vector<std::string> logical) const {
    module_.graph().values[value].logical = std::move(logical);
  }

  std::pair<ExpertLayer, ExpertLayer> gate_and_up() const {
    const ValueId both = module_.weight({experts_.count, 2, experts_.inner, options_.width},
                                        {"experts", "", "mlp", "embed"}, "gate_up_proj");
    const std::vector<ValueId> kernels =
        unstack(ops().as_operand(both, "split"), 1, "split", {"experts", "mlp", "embed"});
    return {{kernels[0], no_id, "gate", "mlp"}, {kernels[1], no_id, "up", "mlp"}};
  }

  std::pair<ExpertLayer, ExpertLayer> gate_and_up_by_turns() const {
    const int64_t columns = 2 * experts_.inner;
    const ValueId both =
        module_.weight({experts_.count, options_.width, columns}, {"experts", "embed", "mlp"}, "gate_up_proj");
    const ValueId biases = module_.weight({experts_.count, columns}, {"experts", "mlp"}, "gate_up_proj_bias");
    const std::vector<std::pair<char, int64_t>> two{{'z', 2}};
    const std::vector<ValueId> kernels = unstack(ops().append("rearrange", {ops().as_operand(both, "split")},
                                                              EquationAttributes{"eh(iz)->zehi", two}, "in_halves"),
                                                 0, "split", {"experts", "embed", "mlp"});
    const std::vector<ValueId> bias =
        unstack(ops().append("rearrange", {biases}, EquationAttributes{"e(iz)->zei", two}, "bias_in_halves"), 0,
                "split_bias", {"experts", "mlp"});
    return {{kernels[0], bias[0], "gate", "mlp"}, {kernels[1], bias[1], "up", "mlp"}};
  }

  ExpertLayer down() const {
    if (!experts_.by_turns) {
      return {
          module_.weight({experts_.count, options_.width, experts_.inner}, {"experts", "embed", "mlp"}, "down_proj"),
          no_id, "down", "embed"};
    }
    return {module_.weight({experts_.count, experts_.inner, options_.width}, {"experts", "mlp", "embed"}, "down_proj"),
            module_.weight({experts_.count, options_.width}, {"experts", "embed"}, "down_proj_bias"), "down", "embed"};
  }

  std::vector<ValueId> unstack(ValueId both, int dimension, const char* leaf,
                               const std::vector<std::string>& logical) const {
    std::vector<ValueId> halves = ops().append_all("unstack", {both}, StackAttributes{dimension, 2}, leaf);
    for (ValueId half : halves) call(half, logical);
    return halves;
  }

  ValueId in_f32(ValueId y, const ExpertLayer& layer) const {
    return ops().cast(y, DType::f32, std::string(layer.leaf) + "/widen");
  }

  // In the type that products give; with a bias in f32.
  ValueId multiply(ValueId x, const ExpertLayer& layer) const {
    const ValueId kernels = ops().as_operand(layer.kernels, layer.leaf);
    x = ops().as_operand(x, layer.leaf);
    if (counts_ != no_id) return multiply_rows(x, kernels, layer);
    const ExpertLinearAttributes attributes{experts_.count, experts_.by_turns};
    const ValueId y = ops().append("expert_linear", {x, choices_, kernels}, attributes, layer.leaf);
    call(y, {"batch", "length", "", layer.features});
    if (layer.bias == no_id) return y;
    const ValueId bias = bias_of_slots(layer);
    return ops().add(in_f32(y, layer), bias, std::string(layer.leaf) + "/add");
  }

  // The same of rows that were sent. Biases are kernels of one column, of ones.
  ValueId multiply_rows(ValueId rows, ValueId kernels, const ExpertLayer& layer) const {
    const GroupedLinearAttributes attributes{experts_.by_turns, filled_};
    const std::string leaf = layer.leaf;
    ValueId y = ops().append("grouped_linear", {rows, counts_, kernels}, attributes, leaf);
    if (layer.bias == no_id) return y;
    y = in_f32(y, layer);
    TensorType column = module_.graph().type(y);
    column.shape.back() = 1;
    const ValueId ones = module_.filled(1, column, leaf + "/ones");
    const ValueId columns =
        ops().append("rearrange", {layer.bias}, EquationAttributes{"e(fo)->efo", {{'o', 1}}}, leaf + "/as_column");
    const ValueId bias = ops().append("grouped_linear", {ones, counts_, columns},
                                      GroupedLinearAttributes{false, filled_}, leaf + "/bias");
    return ops().add(y, bias, leaf + "/add");
  }

  // The row of biases that each slot's expert has.
  ValueId bias_of_slots(const ExpertLayer& layer) const {
    const std::string leaf = layer.leaf;
    const int64_t k = experts_.choice.k;
    const ValueId ids = ops().append("rearrange", {choices_}, EquationAttributes{"bsk->b(sk)"}, leaf + "/as_rows");
    const ValueId rows = ops().append("embedding", {ids, layer.bias}, {}, leaf + "/bias");
    const ValueId bias =
        ops().append("rearrange", {rows}, EquationAttributes{"b(sk)f->bskf", {{'k', k}}}, leaf + "/bias_of_slots");
    call(bias, {"batch", "length", "", layer.features});
    return bias;
  }

  ValueId gated(ValueId gate, ValueId up) const {
    if (!experts_.by_turns) return ops().append("multiply", {activate(ops(), gate, options_.activation), up});
    const double none = -std::numeric_limits<double>::infinity();
    gate = ops().append("clip", {gate}, ClipBoundsAttributes{none, experts_.limit}, "clip_gate");
    up = ops().append("clip", {up}, ClipBoundsAttributes{-experts_.limit, experts_.limit}, "clip_up");
    // gate sigmoid(alpha gate) = silu(alpha gate) / alpha.
    ValueId open = ops().append("scale", {gate}, ScaleAttributes{experts_.alpha}, "scale_gate");
    open = ops().append("scale", {ops().append("silu", {open})}, ScaleAttributes{1 / experts_.alpha}, "scale_back");
    return ops().add(ops().append("multiply", {up, open}), open, "add_gate");
  }

  const DecoderModule& module_;
  const DecoderOptions& options_;
  const DecoderExperts& experts_;
  ValueId choices_;
  ValueId counts_ = no_id;   // of rows that are sent; no_id: none is
  ValueId dropped_ = no_id;  // no_id: nothing can be
  double filled_ = 1;
};

// A state of zeros that steps do not change.
ValueId choice_bias(const DecoderModule& router) {
  Graph& graph = router.graph();
  std::vector<std::string> path{"params"};
  path.insert(path.end(), router.module().path().begin(), router.module().path().end());
  path.emplace_back("e_score_correction_bias");
  const StateId id = graph.add_state(op_definition("initialise"),
                                     constant_initialiser(0, {router.options().experts.count}), "params", path);
  graph.values[graph.states[id].before].logical = {"router"};
  return graph.states[id].before;
}

}  // namespace

ValueId decoder_experts(const DecoderModule& module, ValueId x) {
  const PlaceScope place(module.graph(), LayerPart::mlp);
  const DecoderOptions& o = module.options();
  Graph& graph = module.graph();
  const DecoderModule router = module.child(o.names.router), experts = module.child(o.names.experts);
  const LinearWeight weight = router.linear_weight(o.width, "embed", o.experts.count, "router");
  const ValueId bias = o.experts.router_bias ? router.constant("bias", 0, {o.experts.count}, {"router"}) : no_id;
  std::vector<ValueId> scores{router.linear(x, weight, bias)};
  if (o.experts.choice_bias) scores.push_back(choice_bias(router));
  if (o.experts.balance > 0) router.module().append("expert_probability", {scores[0]}, {}, "probability");
  const std::vector<ValueId> chosen = router.module().append_all("top_k", scores, o.experts.choice);
  for (ValueId value : chosen) graph.values[value].logical = {"batch", "length", ""};
  Experts layer(experts, chosen[0]);
  const ValueId made = experts.module().cast(layer.apply(x), DType::f32, "weighted_sum/cast");
  layer.count();
  const ValueId y = experts.module().append("weighted_sum", {made, chosen[1]});
  graph.values[y].logical = {"batch", "length", "embed"};
  if (o.experts.shared_inner == 0) return y;
  const ValueId shared = decoder_feed_forward(module.child(o.names.shared_experts), x, o.experts.shared_inner);
  return module.module().add(y, shared, "add_shared");
}

ValueId balance_loss(const DecoderModule& module) {
  Graph& graph = module.graph();
  const Module ops = module.module().child("aux_loss");
  ValueId chosen = no_id, probability = no_id;
  const auto add = [&](ValueId& sum, ValueId value, const char* leaf) {
    sum = sum == no_id ? value : ops.add(sum, value, leaf);
  };
  std::vector<ValueId> probabilities;
  for (const Op& op : graph.ops) {
    if (op.definition->name() == "expert_probability") probabilities.push_back(op.outputs[0]);
  }
  for (ValueId value : probabilities) add(probability, value, "add_probability");
  for (const ExpertCounts& counts : graph.expert_counts) add(chosen, counts.chosen, "add_chosen");
  const Shape& tokens = graph.type(graph.inputs.at("tokens")).shape;
  const double count = static_cast<double>(element_count(tokens) * std::ssize(probabilities));
  const ValueId product = ops.append("einsum", {chosen, probability}, EquationAttributes{"e,e->"});
  const auto experts = static_cast<double>(module.options().experts.count);
  return ops.append("scale", {product}, ScaleAttributes{experts / count / count});
}

}  // namespace shardscope
