#include "models/logical_dot_relu_dot.h"

#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

Graph build_logical_dot_relu_dot(const OptionList& options, const ModelContext& context) {
  const int64_t embed = integer_option(options, "embed_dim"), hidden = integer_option(options, "hidden_dim");
  Graph graph;
  const TensorType type{{context.batch_size, embed}, DType::f32};
  const ValueId inputs = graph.add_input("inputs", type), targets = graph.add_input("targets", type);
  for (ValueId value : {inputs, targets}) graph.values[value].logical = {"batch", "embed"};

  const Module model(graph, compute_dtype(options)), dot1 = model.child("dot1"), dot2 = model.child("dot2");
  NnxRngs rngs(context.seed);
  const ValueId up = dot1.parameter("kernel", rngs.draw(lecun_normal(embed, {embed, hidden})), {"embed", "hidden"});
  const ValueId down = dot2.parameter("kernel", rngs.draw(lecun_normal(hidden, {hidden, embed})), {"hidden", "embed"});
  ValueId x = model.append("relu", {dot1.product(inputs, up, "be,eh->bh")});
  x = model.cast(dot2.product(x, down, "bh,he->be"), DType::f32);
  set_regression_outputs(graph, x, targets);
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> logical_dot_relu_dot_captions(const OptionList&) {
  return {{"dot1, kernel", {"params", "dot1", "kernel"}}, {"dot2, kernel", {"params", "dot2", "kernel"}}};
}

}  // namespace

ModelDefinition logical_dot_relu_dot() {
  return {"logical_dot_relu_dot",
          "two bias-free layers with relu between them, embed to hidden to embed, and mean squared error (Flax NNX)",
          {{"embed_dim", int64_t{1024}, true, 1, 1e7, "numbers in an example, and in a target"},
           {"hidden_dim", int64_t{1024}, true, 1, 1e7, "width of the hidden layer"},
           compute_dtype_option()},
          [](const OptionList&) { return std::vector<Error>(); },
          build_logical_dot_relu_dot,
          logical_dot_relu_dot_captions};
}

}  // namespace shardscope
