#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/export/jax_model.h"

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 7> known_layers{"linear", "conv", "flatten",   "relu",
                                                       "silu",   "gelu", "gelu_exact"};

std::vector<std::pair<std::string, std::string>> unknown_layers(const OptionList& options) {
  std::vector<std::pair<std::string, std::string>> lacking;
  const TextList& layers = list_option(options, "layers");
  for (size_t i = 0; i < layers.size(); ++i) {
    const size_t begin = std::min(layers[i].find_first_not_of(' '), layers[i].size());
    const std::string kind = layers[i].substr(begin, layers[i].find(' ', begin) - begin);
    if (std::ranges::find(known_layers, kind) != known_layers.end()) continue;
    lacking.emplace_back(fmt::format("the model's source in Flax has no '{}'", kind),
                         fmt::format("model.layers[{}]", i));
  }
  return lacking;
}

}  // namespace

// Sequential of bench/golden/nnx_systems.py.
JaxModel jax_sequential() {
  return {"sequential", JaxModel::Library::nnx, "Sequential(nnx.Rngs(SEED))",
          R"py(
def sizes(text):
    """"3x2" -> (3, 2); "3" -> (3, 3)"""
    return tuple(int(size) for size in (text if "x" in text else f"{text}x{text}").split("x"))


ACTIVATIONS = {
    "relu": nnx.relu,
    "silu": nnx.silu,
    "gelu": nnx.gelu,
    "gelu_exact": lambda x: nnx.gelu(x, approximate=False),
}


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
        if entry == "flatten":
            return x.reshape(x.shape[0], -1)
        return ACTIVATIONS[entry](x) if entry in ACTIVATIONS else layers[entry](x)

    def __call__(self, x):
        for entry in self.order:
            x = self.apply(entry, self.layers, x)
        return x
)py",        jax_squared_error,      {{"compute_dtype", "f32"}},   nullptr, unknown_layers};
}

}  // namespace shardscope
