#include "engine/export/jax_model.h"

namespace shardscope {

// TensorParallelMlp of bench/golden/nnx_systems.py.
JaxModel jax_tensor_parallel_mlp() {
  return {"tensor_parallel_mlp",
          JaxModel::Library::nnx,
          "TensorParallelMlp(nnx.Rngs(SEED))",
          R"(
lecun_normal = nnx.initializers.lecun_normal()


class TensorParallelMlp(nnx.Module):
    def __init__(self, rngs):
        self.W_before = nnx.Param(lecun_normal(rngs.params(), (D_MODEL, D_MODEL)))
        self.W_in = nnx.Param(lecun_normal(rngs.params(), (D_MODEL, D_FF)))
        self.W_out = nnx.Param(lecun_normal(rngs.params(), (D_FF, D_MODEL)))

    def __call__(self, x):
        x = x @ self.W_before[...]  #@ In
        x = x @ self.W_in[...]  #@ Tmp
        return x @ self.W_out[...]
)",
          jax_squared_error,
          {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
