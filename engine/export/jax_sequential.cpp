#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/export/jax_model.h"

namespace shardscope {

namespace {

// Layers that have names, and those of experts.
std::vector<std::pair<std::string, std::string>> layers_that_flax_lacks(const OptionList& options) {
  constexpr std::array<std::string_view, 9> known{"linear",     "conv",     "relu",       "silu",   "gelu",
                                                  "gelu_exact", "soft_cap", "gated_silu", "flatten"};
  std::vector<std::pair<std::string, std::string>> lacks;
  const TextList& layers = list_option(options, "layers");
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string_view layer = layers[i];
    const bool has = std::ranges::find(known, layer.substr(0, layer.find(' '))) != known.end();
    if (has && layer.find(" from ") == std::string_view::npos) continue;
    lacks.emplace_back(fmt::format("model.layers[{}]", i),
                       fmt::format("the model's source in Flax has no layer '{}'", layer));
  }
  return lacks;
}

}  // namespace

// Sequential of bench/golden/nnx_systems.py.
JaxModel jax_sequential() {
  return {"sequential", JaxModel::Library::nnx, "Sequential(nnx.Rngs(SEED))",
          R"py(
def sizes(text):
    """"3x2" -> (3, 2); "3" -> (3, 3)"""
    return tuple(int(size) for size in (text if "x" in text else f"{text}x{text}").split("x"))


class Sequential(nnx.Module):
    """The layers of LAYERS, each a line such as "linear 512", "conv 16 3x3 stride 2 valid", "silu" or "flatten"."""

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
            self.order.append(len(layers) - 1 if kind in ("linear", "conv") else line)
            x = self.apply(self.order[-1], layers, x)
        self.layers = nnx.List(layers)

    @staticmethod
    def apply(entry, layers, x):
        if isinstance(entry, int):
            return layers[entry](x)
        kind, *words = entry.split()
        if kind == "flatten":
            return x.reshape(x.shape[0], -1)
        if kind == "soft_cap":
            return float(words[0]) * jnp.tanh(x / float(words[0]))
        if kind == "gated_silu":
            gate, up = jnp.split(x, 2, axis=-1)
            return nnx.silu(gate) * up
        if kind.startswith("gelu"):
            return nnx.gelu(x, approximate=kind == "gelu")
        return nnx.silu(x) if kind == "silu" else nnx.relu(x)

    def __call__(self, x):
        for entry in self.order:
            x = self.apply(entry, self.layers, x)
        return x
)py",        jax_squared_error,      {{"compute_dtype", "f32"}},   nullptr, layers_that_flax_lacks};
}

}  // namespace shardscope
