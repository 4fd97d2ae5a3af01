#include "engine/export/jax_model.h"

namespace shardscope {

// Sequential of bench/golden/nnx_systems.py.
JaxModel jax_sequential() {
  return {"sequential", JaxModel::Library::nnx, "Sequential(nnx.Rngs(SEED))",
          R"py(
def sizes(text):
    """"3x2" -> (3, 2); "3" -> (3, 3)"""
    return tuple(int(size) for size in (text if "x" in text else f"{text}x{text}").split("x"))


class Sequential(nnx.Module):
    """The layers of LAYERS, each a line such as "linear 512", "conv 16 3x3 stride 2 valid", "relu" or "flatten"."""

    def __init__(self, rngs):
        layers, self.order = [], []
        x = jnp.zeros((1, *map(int, INPUT.split("x"))))
        for line in LAYERS:
            kind, *words = line.split()
            if kind == "linear":
                layers.append(nnx.Linear(x.shape[-1], int(words[0]), rngs=rngs))
            elif kind == "conv":
                strides = sizes(words[words.index("stride") + 1]) if "stride" in words else (1, 1)
                options = {"strides": strides, "padding": "VALID" if "valid" in words else "SAME"}
                layers.append(nnx.Conv(x.shape[-1], int(words[0]), sizes(words[1]), rngs=rngs, **options))
            self.order.append(len(layers) - 1 if kind in ("linear", "conv") else kind)
            x = self.apply(self.order[-1], layers, x)
        self.layers = nnx.List(layers)

    @staticmethod
    def apply(entry, layers, x):
        if entry == "relu":
            return nnx.relu(x)
        return x.reshape(x.shape[0], -1) if entry == "flatten" else layers[entry](x)

    def __call__(self, x):
        for entry in self.order:
            x = self.apply(entry, self.layers, x)
        return x
)py",        jax_squared_error,      {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
