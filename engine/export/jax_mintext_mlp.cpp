#include "engine/export/jax_model.h"

namespace shardscope {

// MintextMlp of bench/golden/nnx_systems.py.
JaxModel jax_mintext_mlp() {
  return {"mintext_mlp", JaxModel::Library::nnx, "MintextMlp(nnx.Rngs(SEED))",
          R"(
lecun_normal = nnx.initializers.lecun_normal()


class MintextMlp(nnx.Module):
    def __init__(self, rngs):
        self.w1 = nnx.Param(lecun_normal(rngs.params(), (DIN, DMID)))
        self.b1 = nnx.Param(jnp.zeros((DMID,)))
        self.w2 = nnx.Param(lecun_normal(rngs.params(), (DMID, DOUT)))

    def __call__(self, x):
        x = x @ self.w1[...]  #@ w1/einsum
        x = x + self.b1[...]  #@ b1/add
        x = nnx.relu(x)  #@ relu
        return x @ self.w2[...]
)",           jax_squared_error,      {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
