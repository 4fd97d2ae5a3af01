#include "engine/export/jax_model.h"

namespace shardscope {

// DotReluDot of bench/golden/nnx_systems.py.
JaxModel jax_logical_dot_relu_dot() {
  return {"logical_dot_relu_dot",
          JaxModel::Library::nnx,
          "DotReluDot(nnx.Rngs(SEED))",
          R"(
class DotReluDot(nnx.Module):
    def __init__(self, rngs):
        self.dot1 = nnx.Linear(EMBED_DIM, HIDDEN_DIM, use_bias=False, rngs=rngs)
        self.dot2 = nnx.Linear(HIDDEN_DIM, EMBED_DIM, use_bias=False, rngs=rngs)

    def __call__(self, x):
        x = self.dot1(x)  #@ dot1/einsum
        x = nnx.relu(x)  #@ relu
        return self.dot2(x)
)",
          jax_squared_error,
          {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
