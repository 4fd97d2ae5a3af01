"""Draws of jax.random, jax.nn.initializers, Flax Linen, Flax NNX and numpy.random."""

import jax
import jax.numpy as jnp
import numpy
from flax import linen, nnx

INITIALIZERS = {
    "lecun_normal": jax.nn.initializers.lecun_normal(),
    "he_normal": jax.nn.initializers.he_normal(),
    "xavier_uniform": jax.nn.initializers.xavier_uniform(),
    "embed_default": linen.linear.default_embed_init,
    "normal_0.02": jax.nn.initializers.normal(0.02),
}


def key_of(case):
    return jax.random.PRNGKey(case["seed"])


def listed(array):
    return numpy.asarray(array).ravel().tolist()


class Block(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.SelfAttention(num_heads=4)(linen.LayerNorm()(x))
        return linen.Dense(8)(x)


class EmbedAndBlock(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        return Block(name="Bl_0")(linen.Embed(32, 16)(tokens))


class Dropped(linen.Module):
    rate: float

    @linen.compact
    def __call__(self, x):
        return linen.Dropout(self.rate, deterministic=False)(x)


class DroppedTwice(linen.Module):
    rate: float

    @linen.compact
    def __call__(self, x):
        x = linen.Dropout(self.rate, deterministic=False)(x)
        return Dropped(self.rate, name="inner")(x)


def initializer(case):
    values = listed(INITIALIZERS[case["name"]](key_of(case), tuple(case["shape"])))
    return {**case, "first8": values[:8], "last": values[-1]}


def linen_parameters(case):
    tree = EmbedAndBlock().init(key_of(case), jnp.zeros((2, 4), jnp.int32))["params"]
    parameters = {}
    for path, old in case["parameters"].items():
        leaf = tree
        for part in path.split("/"):
            leaf = leaf[part]
        values = listed(leaf)
        parameters[path] = {"shape": list(leaf.shape), "first4": values[: len(old["first4"])], "last": values[-1]}
    return {**case, "parameters": parameters}


def linen_dropout(case):
    out = DroppedTwice(case["rate"]).apply({}, jnp.ones(case["shape"]), rngs={"dropout": jax.random.PRNGKey(case["rng_seed"])})
    return {**case, "kept": [int(value != 0) for value in listed(out)]}


def nnx_dropout(case):
    rngs = nnx.Rngs(case["seed"])
    nnx.Linear(2, 2, rngs=rngs)
    dropout = nnx.Dropout(case["rate"], rngs=rngs)
    kept = [[int(value != 0) for value in listed(dropout(jnp.ones(case["shape"])))] for _ in range(2)]
    return {**case, "kept_call_0": kept[0], "kept_call_1": kept[1]}


def nnx_draws(kind):
    rngs = nnx.Rngs(0)
    make = {
        "Linear": lambda: nnx.Linear(4, 4, rngs=rngs),
        "Linear without bias": lambda: nnx.Linear(4, 4, use_bias=False, rngs=rngs),
        "LayerNorm": lambda: nnx.LayerNorm(4, rngs=rngs),
        "Embed": lambda: nnx.Embed(4, 4, rngs=rngs),
        "MultiHeadAttention": lambda: nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs),
        "Dropout": lambda: nnx.Dropout(0.5, rngs=rngs),
        "Conv": lambda: nnx.Conv(4, 4, 3, rngs=rngs),
        "RMSNorm": lambda: nnx.RMSNorm(4, rngs=rngs),
    }
    make[kind]()
    return int(rngs.default.count[...])


def numpy_normal_then_choice(case):
    random = numpy.random.RandomState(case["seed"])
    normal = case["normal"]
    values = random.normal(normal["loc"], normal["scale"], normal["n"])
    choice = [{**draw, "values": listed(random.choice(draw["n"], draw["size"]))} for draw in case["choice"]]
    return {**case, "normal": {**normal, "first8": listed(values)[:8]}, "choice": choice}


def prng(old):
    def values(name, draw):
        case = old[name]
        return {**case, "values": listed(draw(key_of(case), case))}

    words = lambda key: listed(jax.random.key_data(key))
    return {
        "key": {**old["key"], "words": words(key_of(old["key"]))},
        "key_large": {**old["key_large"], "words": key_words_of_large_seed(old["key_large"]["seed"])},
        "fold_in": [{**case, "words": words(jax.random.fold_in(key_of(case), case["data"]))} for case in old["fold_in"]],
        "split": {**old["split"], "words": words(jax.random.split(key_of(old["split"]), old["split"]["n"]))},
        "bits": values("bits", lambda key, case: jax.random.bits(key, (case["n"],))),
        "bits_2d": values("bits_2d", lambda key, case: jax.random.bits(key, tuple(case["shape"]))),
        "uniform": values("uniform", lambda key, case: jax.random.uniform(key, (case["n"],))),
        "normal": values("normal", lambda key, case: jax.random.normal(key, (case["n"],))),
        "truncated_normal": values("truncated_normal", lambda key, case: jax.random.truncated_normal(
            key, case["lower"], case["upper"], (case["n"],))),
        "bernoulli": values("bernoulli", lambda key, case: jax.random.bernoulli(
            key, case["p"], (case["n"],)).astype(jnp.int32)),
        "randint": [{**case, "values": listed(jax.random.randint(key_of(case), (case["n"],), case["low"], case["high"]))}
                    for case in old["randint"]],
        "initializers": [initializer(case) for case in old["initializers"]],
        "linen_init": linen_parameters(old["linen_init"]),
        "nnx_keys": {**old["nnx_keys"], "words": nnx_keys(old["nnx_keys"])},
        "linen_dropout": linen_dropout(old["linen_dropout"]),
        "numpy_randint": [{**case, "values": listed(numpy.random.RandomState(case["seed"]).randint(
            0, case["n"], len(case["values"]), dtype=numpy.int32))} for case in old["numpy_randint"]],
        "numpy_normal_then_choice": numpy_normal_then_choice(old["numpy_normal_then_choice"]),
        "nnx_keys_drawn_at_construction": {kind: nnx_draws(kind) for kind in old["nnx_keys_drawn_at_construction"]},
        "nnx_dropout": nnx_dropout(old["nnx_dropout"]),
    }


def key_words_of_large_seed(seed):
    """Seeds above 32 bits need 64-bit integers, which JAX has switched off by default."""
    with jax.enable_x64(True):
        return listed(jax.random.key_data(jax.random.PRNGKey(seed)))


def nnx_keys(case):
    rngs = nnx.Rngs(case["seed"])
    return [listed(jax.random.key_data(rngs())) for _ in case["words"]]
