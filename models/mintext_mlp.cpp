#include "models/mintext_mlp.h"

#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

Graph build_mintext_mlp(const OptionList& options, const ModelContext& context) {
  const int64_t in = integer_option(options, "din"), middle = integer_option(options, "dmid");
  const int64_t out = integer_option(options, "dout");
  Graph graph;
  const ValueId inputs = graph.add_input("inputs", {{context.batch_size, in}, DType::f32});
  const ValueId targets = graph.add_input("targets", {{context.batch_size, out}, DType::f32});
  for (ValueId value : {inputs, targets}) graph.values[value].logical = {"data", ""};

  const Module model(graph, compute_dtype(options));
  NnxRngs rngs(context.seed);
  const ValueId w1 = model.parameter("w1", rngs.draw(lecun_normal(in, {in, middle})), {"embed", "mlp"});
  const ValueId b1 = model.parameter("b1", constant_initialiser(0, {middle}), {"mlp"});
  const ValueId w2 = model.parameter("w2", rngs.draw(lecun_normal(middle, {middle, out})), {"embed", "mlp"});
  ValueId x = model.child("w1").product(inputs, w1, "bi,im->bm");
  x = model.append("relu", {model.child("b1").add(x, b1)});
  x = model.cast(model.child("w2").product(x, w2, "bm,mo->bo"), DType::f32);
  graph.values[x].logical = {"data", ""};
  set_regression_outputs(graph, x, targets);
  return graph;
}

// What the document visualizes: the first weight and its momentum.
std::vector<std::pair<std::string, std::vector<std::string>>> mintext_mlp_captions(const OptionList&) {
  return {{"w1", {"params", "w1"}}, {"momentum of w1", {"optimizer", "momentum", "params", "w1"}}};
}

}  // namespace

ModelDefinition mintext_mlp() {
  return {"mintext_mlp",
          "relu(x w1 + b1) w2 with mean squared error (MinText, tutorial 3)",
          {{"din", int64_t{1}, false, 1, 1e7, "numbers in an example"},
           {"dmid", int64_t{32}, true, 1, 1e7, "width of the hidden layer"},
           {"dout", int64_t{1}, false, 1, 1e7, "numbers in a target"},
           compute_dtype_option()},
          [](const OptionList&) { return std::vector<Error>(); },
          build_mintext_mlp,
          mintext_mlp_captions,
          {"Step {step}: Loss = {loss}", 1000, false, "", 20}};
}

}  // namespace shardscope
