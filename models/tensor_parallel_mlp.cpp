#include "models/tensor_parallel_mlp.h"

#include "models/compute_dtype.h"
#include "models/initialisers.h"
#include "models/losses.h"
#include "models/module.h"
#include "models/nnx_rngs.h"

namespace shardscope {

namespace {

Graph build_tensor_parallel_mlp(const OptionList& options, const ModelContext& context) {
  const int64_t d = integer_option(options, "d_model"), f = integer_option(options, "d_ff");
  Graph graph;
  const TensorType type{{context.batch_size, d}, DType::f32};
  const ValueId inputs = graph.add_input("inputs", type), targets = graph.add_input("targets", type);
  graph.values[inputs].logical = {"B", "K"};
  graph.values[targets].logical = {"B", "D"};

  const Module model(graph, compute_dtype(options));
  NnxRngs rngs(context.seed);
  const ValueId before = model.parameter("W_before", rngs.draw(lecun_normal(d, {d, d})), {"K", "D"});
  const ValueId w_in = model.parameter("W_in", rngs.draw(lecun_normal(d, {d, f})), {"D", "F"});
  const ValueId w_out = model.parameter("W_out", rngs.draw(lecun_normal(f, {f, d})), {"F", "D"});
  const ValueId in = model.product(inputs, before, "bk,kd->bd", "In");
  const ValueId tmp = model.product(in, w_in, "bd,df->bf", "Tmp");
  const ValueId out = model.cast(model.product(tmp, w_out, "bf,fd->bd", "Out"), DType::f32);
  set_regression_outputs(graph, out, targets);
  return graph;
}

std::vector<std::pair<std::string, std::vector<std::string>>> tensor_parallel_mlp_captions(const OptionList&) {
  return {{"W_in", {"params", "W_in"}}, {"W_out", {"params", "W_out"}}};
}

}  // namespace

ModelDefinition tensor_parallel_mlp() {
  return {"tensor_parallel_mlp",
          "the pair of matrix products of \"How To Scale Your Model\"",
          {{"d_model", int64_t{512}, true, 1, 1e7, "D, width of the activations"},
           {"d_ff", int64_t{2048}, true, 1, 1e7, "F, width between the two products"},
           compute_dtype_option()},
          [](const OptionList&) { return std::vector<Error>(); },
          build_tensor_parallel_mlp,
          tensor_parallel_mlp_captions};
}

}  // namespace shardscope
