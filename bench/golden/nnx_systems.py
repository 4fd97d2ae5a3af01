"""The systems of the documents that are written in Flax NNX with parameters made by hand, from a preset and settings:
losses of their first steps and the parameters after them. Devices do not show in either."""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy
import optax
from flax import nnx
from run_file_settings import apply_settings

PRESETS = pathlib.Path(__file__).resolve().parent.parent.parent / "presets"


def run_file(preset, settings):
    run = json.loads((PRESETS / f"{preset}.json").read_text())
    apply_settings(run, settings)
    return run


def cast(array, dtype):
    return array.astype(dtype)


def round_once(array, dtype):
    """The cast as it is defined: XLA may keep excess precision between operations of bf16, and rounds within gelu."""
    return jax.lax.reduce_precision(array, 8, 7) if dtype == jnp.bfloat16 else array.astype(dtype)


def einsum(equation, x, y, dtype):
    return cast(jnp.einsum(equation, cast(x, dtype), cast(y, dtype)), dtype)


def unplaced(name, array):
    """Where an activation is; devices do not show in numbers, so only peers that are timed have another."""
    return array


TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


class MintextMlp(nnx.Module):
    def __init__(self, options, rngs):
        init, din, dmid, dout = nnx.initializers.lecun_normal(), options["din"], options["dmid"], options["dout"]
        self.w1 = nnx.Param(init(rngs.params(), (din, dmid)))
        self.b1 = nnx.Param(jnp.zeros((dmid,)))
        self.w2 = nnx.Param(init(rngs.params(), (dmid, dout)))

    def __call__(self, x):
        return nnx.relu(x @ self.w1[...] + self.b1[...]) @ self.w2[...]


class DotReluDot(nnx.Module):
    def __init__(self, options, rngs):
        embed, hidden = options["embed_dim"], options["hidden_dim"]
        self.dot1 = nnx.Linear(embed, hidden, use_bias=False, rngs=rngs)
        self.dot2 = nnx.Linear(hidden, embed, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return self.dot2(nnx.relu(self.dot1(x)))


class TensorParallelMlp(nnx.Module):
    def __init__(self, options, rngs):
        init, d, f = nnx.initializers.lecun_normal(), options["d_model"], options["d_ff"]
        self.W_before = nnx.Param(init(rngs.params(), (d, d)))
        self.W_in = nnx.Param(init(rngs.params(), (d, f)))
        self.W_out = nnx.Param(init(rngs.params(), (f, d)))

    def __call__(self, x):
        return ((x @ self.W_before[...]) @ self.W_in[...]) @ self.W_out[...]


class RMSNorm(nnx.Module):
    def __init__(self, dim, rngs):
        self.gamma = nnx.Param(jax.nn.initializers.ones(rngs.params(), (dim,)))

    def __call__(self, x):
        return self.gamma[...] * x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)


class TransformerLayer(nnx.Module):
    place = staticmethod(unplaced)

    def __init__(self, options, rngs):
        init = jax.nn.initializers.he_normal()
        d, heads, kv, size = (options[key] for key in ("d_model", "num_heads", "kv_heads", "key_dim"))
        self.q = nnx.Param(init(rngs.params(), (d, heads, size)))
        self.k = nnx.Param(init(rngs.params(), (d, kv, size)))
        self.v = nnx.Param(init(rngs.params(), (d, kv, size)))
        self.proj = nnx.Param(init(rngs.params(), (heads, size, d)))
        self.w1 = nnx.Param(init(rngs.params(), (d, 4 * d)))
        self.w2 = nnx.Param(init(rngs.params(), (4 * d, d)))
        self.norm1, self.norm2 = RMSNorm(d, rngs), RMSNorm(d, rngs)
        self.dtype = TYPES[options["compute_dtype"]]
        self.ffw_dtype = TYPES[options["ffw_dtype"]]  # bf16 where the document casts

    def __call__(self, x):
        dtype, ffw_dtype = self.dtype, self.ffw_dtype
        y = self.norm1(x)
        q = einsum("btd,dhq->bthq", y, self.q[...], dtype)
        k = einsum("btd,dhk->bthk", y, self.k[...], dtype)
        v = einsum("btd,dhv->bthv", y, self.v[...], dtype)
        # Query head i uses key head i / group.
        group = q.shape[2] // k.shape[2]
        k, v = (jnp.repeat(array, group, axis=2) for array in (k, v))
        scores = einsum("bthd,bshd->bhts", q, k, jnp.float32) * q.shape[-1] ** -0.5
        context = einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v, jnp.float32)
        x = x + einsum("bthv,hvd->btd", context, self.proj[...], dtype)
        y = self.place("layers/*/norm2/rms_norm", self.norm2(x))
        y = self.place("layers/*/w1/einsum", cast(einsum("btd,df->btf", y, self.w1[...], dtype), ffw_dtype))
        y = cast(einsum("btf,fd->btd", cast(jax.nn.gelu(y), ffw_dtype), self.w2[...], dtype), ffw_dtype)
        return self.place("layers/*/ffw_residual", x + y)


class MintextTransformer(nnx.Module):
    def __init__(self, options, rngs):
        init = jax.nn.initializers.he_normal()
        self.embedding = nnx.Param(init(rngs.params(), (options["vocab_size"], options["d_model"])))
        self.layers = nnx.List([TransformerLayer(options, rngs) for _ in range(options["num_layers"])])
        self.dtype = TYPES[options["compute_dtype"]]

    def __call__(self, tokens):
        x = TransformerLayer.place("embedding", jnp.take(self.embedding[...], tokens, axis=0))
        for layer in self.layers:
            x = layer(x)
        return einsum("btd,vd->btv", x, self.embedding[...], self.dtype).astype(jnp.float32)


class Linear(nnx.Module):
    def __init__(self, n, m, rngs):
        self.weight = nnx.Param(nnx.initializers.lecun_normal()(rngs.params(), (n, m)))
        self.bias = nnx.Param(jnp.zeros(m))

    def __call__(self, x):
        return x @ self.weight[...] + self.bias[...]


class WorkshopLayer(nnx.Module):
    """ParallelTransformerLayer; without ffn_hidden_size SequenceParallelTransformerLayer."""

    def __init__(self, options, rngs):
        d, f = options["hidden_size"], options.get("ffn_hidden_size", 0)
        self.heads = options["num_heads"]
        self.qkv_proj, self.output_proj = Linear(d, 3 * d, rngs), Linear(d, d, rngs)
        if f:
            self.ffn_layer1, self.ffn_layer2 = Linear(d, f, rngs), Linear(f, d, rngs)
        self.ln1 = nnx.LayerNorm(d, rngs=rngs)
        if f:
            self.ln2 = nnx.LayerNorm(d, rngs=rngs)

    def attention(self, x):
        q, k, v = (part.reshape(*x.shape[:2], self.heads, -1) for part in jnp.split(self.qkv_proj(x), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        context = jnp.einsum("bhqk,bkhd->bqhd", nnx.softmax(scores, axis=-1), v)
        return self.output_proj(context.reshape(x.shape))

    def __call__(self, x):
        x = x + self.attention(self.ln1(x))
        if hasattr(self, "ln2"):
            x = x + self.ffn_layer2(nnx.gelu(self.ffn_layer1(self.ln2(x))))
        return x


class Sequential(nnx.Module):
    """The stages of PipelineParallelModel one behind the other, from the layers that the run file lists."""

    def __init__(self, options, rngs):
        self.shape = tuple(int(size) for size in options["input"].split("x"))
        layers, self.order = [], []
        x = jnp.zeros((1, *self.shape))
        for entry in options["layers"]:
            kind, *words = entry.split()
            if kind == "linear":
                layers.append(nnx.Linear(x.shape[-1], int(words[0]), rngs=rngs))
            elif kind == "conv":
                sizes = lambda text: tuple(int(size) for size in (text if "x" in text else f"{text}x{text}").split("x"))
                strides = sizes(words[words.index("stride") + 1]) if "stride" in words else (1, 1)
                padding = "VALID" if "valid" in words else "SAME"
                layers.append(nnx.Conv(x.shape[-1], int(words[0]), sizes(words[1]), strides=strides, padding=padding,
                                       rngs=rngs))
            self.order.append(len(layers) - 1 if kind in ("linear", "conv") else kind)
            x = self.apply(self.order[-1], layers, x)
        self.layers = nnx.List(layers)
        self.result_shape = x.shape[1:]

    @staticmethod
    def apply(entry, layers, x):
        if entry == "relu":
            return nnx.relu(x)
        return x.reshape(x.shape[0], -1) if entry == "flatten" else layers[entry](x)

    def __call__(self, x):
        for entry in self.order:
            x = self.apply(entry, self.layers, x)
        return x


MODELS = {"sequential": Sequential, "mintext_mlp": MintextMlp, "logical_dot_relu_dot": DotReluDot, "tensor_parallel_mlp": TensorParallelMlp,
          "mintext_transformer": MintextTransformer, "workshop_transformer": WorkshopLayer}


def example_shapes(model):
    """Of an example and of a target of a regression."""
    if model["name"] == "mintext_mlp":
        return [model["din"]], [model["dout"]]
    if model["name"] == "sequential":
        layers = Sequential(model, nnx.Rngs(0))
        return layers.shape, layers.result_shape
    width = model.get("embed_dim") or model.get("d_model") or model["hidden_size"]
    shape = [model["seq_len"], width] if "seq_len" in model else [width]
    return shape, shape


def quadratic(seed, batch, count):
    random = numpy.random.RandomState(seed)
    x = numpy.linspace(-2, 2, 100)[:, None]
    y = 0.8 * x**2 + 0.1 + random.normal(0, 0.1, size=x.shape)
    for _ in range(count):
        chosen = random.choice(len(x), size=batch)
        yield x[chosen], y[chosen]


def batches(run, count):
    data, model = run["data"], run["model"]
    kind, seed, batch = data["kind"], data["seed"], data["batch_size"]
    if kind == "quadratic":
        yield from quadratic(seed, batch, count)
    elif kind == "normal":
        shapes = example_shapes(model)
        for step in range(count):
            keys = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(seed), step), 2)
            yield tuple(jax.random.normal(key, (batch, *shape)) for key, shape in zip(keys, shapes))
    else:
        shape = (batch, model["seq_len"])
        tokens = jax.random.randint(jax.random.PRNGKey(seed), shape, 0, model["vocab_size"])
        tokens = jnp.zeros(shape, jnp.int32) if kind == "zeros" else tokens
        yield from [(tokens, jnp.roll(tokens, -1, axis=1))] * count


def loss_of(output, targets):
    if jnp.issubdtype(targets.dtype, jnp.integer):
        return optax.softmax_cross_entropy_with_integer_labels(output, targets).mean()
    return jnp.mean((targets - output) ** 2)


def momentum_sgd(learning_rate, decay=0.9):
    """The SGD of the MinText document: an exponential mean of gradients."""
    return optax.chain(optax.ema(decay, debias=False), optax.scale(-learning_rate))


def train(run, steps):
    model = MODELS[run["model"]["name"]](run["model"], nnx.Rngs(run["seed"]))
    options = {key: value for key, value in run["optimizer"].items() if key != "name"}
    optimizer = nnx.Optimizer(model, {"adam": optax.adam, "sgd": momentum_sgd}[run["optimizer"]["name"]](**options),
                              wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, inputs, targets):
        loss, gradients = nnx.value_and_grad(lambda model: loss_of(model(inputs), targets))(model)
        optimizer.update(model, gradients)
        return loss

    losses = [float(step(model, optimizer, *map(jnp.asarray, batch))) for batch in batches(run, steps)]
    return losses, nnx.to_flat_state(nnx.state(model, nnx.Param))


def changes(settings, preset):
    """How far the settings of bf16 change the first loss, from several seeds, with every cast rounded once."""
    def first_loss(chosen, seed):
        global cast
        cast, kept = round_once, cast
        seeds = [f"seed={seed}", f"data.seed={seed}"]
        try:
            return train(run_file(preset, chosen + seeds), 1)[0][0]
        finally:
            cast = kept

    exact = [setting for setting in settings if not setting.endswith("=bf16")]
    return [first_loss(settings, seed) - first_loss(exact, seed) for seed in range(4)]


def one_case(old):
    if "quadratic" in old:
        case = old["quadratic"]
        drawn = [{"inputs": numpy.float32(x).ravel().tolist(), "targets": numpy.float32(y).ravel().tolist()}
                 for x, y in quadratic(case["seed"], case["batch"], case["count"])]
        return {"quadratic": {**case, "batches": drawn}}
    losses, final = train(run_file(old["preset"], old["settings"]), old["steps"])
    final = {"/".join(map(str, ("params",) + path)): numpy.asarray(value[...], numpy.float64) for path, value in final}
    norms = {name: float(numpy.linalg.norm(array)) for name, array in final.items()}
    case = {**old, "losses": losses, "final_norms": norms}
    if any(setting.endswith("=bf16") for setting in old["settings"]):
        case["changes"] = changes(old["settings"], old["preset"])
    if "params/qkv_proj/bias" in final:
        # The keys' part, between these, has a gradient that is zero but for rounding.
        query, _, value = numpy.split(final["params/qkv_proj/bias"], 3)
        case["qkv_bias"] = {"query": query.tolist(), "value": value.tolist()}
    return case


def nnx_systems(old):
    return [one_case(case) for case in old]
