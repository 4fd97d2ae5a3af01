"""Recipes of precision of a mixture of experts, in JAX and Optax: the layers of LAYERS as the model `sequential`
computes them, with the optimizer, the precision and the microbatches of a case. Every token goes to its experts and
back; each cast of a recipe is written out, and nothing is compiled, as in precision.py. Operands of products, rows on
their way to experts and what products give are of the compute type; scores, choices, their weights, gates, biases and
the sums by weights are f32."""

import jax
import jax.numpy as jnp
from flax import nnx
from nnx_systems import run_file
from precision import TYPES, numbers_of

EXPERTS, K = 4, 2
LAYERS = ["x = linear 16", "linear 4", "r = top_k 2 normalised", "dispatch r from x", "expert_linear 24", "gated_silu",
          "expert_linear 16", "combine", "add x", "linear 5"]
SIZES = ["data.kind=normal", "data.batch_size=32"]


def first_parameters(seed):
    rngs = nnx.Rngs(seed)
    first = {}

    def linear(number, width, features):
        layer = nnx.Linear(width, features, rngs=rngs)
        first[f"layers/{number}/kernel"], first[f"layers/{number}/bias"] = layer.kernel[...], layer.bias[...]

    def experts(number, width, features):
        init = nnx.initializers.lecun_normal(in_axis=-1, out_axis=-2, batch_axis=0)
        first[f"layers/{number}/kernel"] = init(rngs.params(), (EXPERTS, features, width))

    linear(0, 6, 16)
    linear(1, 16, EXPERTS)
    experts(2, 16, 24)
    experts(3, 12, 16)
    linear(4, 16, 5)
    return {name: jnp.asarray(value) for name, value in first.items()}


def products_of(types):
    """linear(x, kernel) and expert_linear(rows (t, k, d), choices (t, k), kernels (e, f, d)), both of f32 arrays that
    they round to the compute type, with gradients of kernels in the type of `reduction`."""
    full = jnp.float32
    narrow = lambda x: x.astype(TYPES[types["compute"]]).astype(full)
    reduced = lambda x: x.astype(TYPES[types["reduction"]]).astype(full)

    @jax.custom_vjp
    def linear(x, kernel):
        return narrow(jnp.einsum("ti,io->to", narrow(x), narrow(kernel)))

    def linear_backward(kept, dy):
        x, kernel, dy = *map(narrow, kept), narrow(dy)
        return narrow(jnp.einsum("to,io->ti", dy, kernel)), reduced(jnp.einsum("ti,to->io", x, dy))

    linear.defvjp(lambda x, kernel: (linear(x, kernel), (x, kernel)), linear_backward)

    @jax.custom_vjp
    def expert_linear(rows, choices, kernels):
        return narrow(jnp.einsum("tkd,tkfd->tkf", narrow(rows), narrow(kernels)[choices]))

    def expert_backward(kept, dy):
        rows, choices, kernels = kept
        rows, kernels, dy = narrow(rows), narrow(kernels), narrow(dy)
        chosen = jax.nn.one_hot(choices, EXPERTS)
        return (narrow(jnp.einsum("tkf,tkfd->tkd", dy, kernels[choices])), None,
                reduced(jnp.einsum("tke,tkf,tkd->efd", chosen, dy, rows)))

    expert_linear.defvjp(lambda *operands: (expert_linear(*operands), operands), expert_backward)

    @jax.custom_vjp
    def sent(x):
        """To each of its experts, in the compute type; back come the sums of what these give."""
        return jnp.repeat(narrow(x)[:, None], K, axis=1)

    sent.defvjp(lambda x: (sent(x), None), lambda _, dy: (narrow(jnp.sum(narrow(dy), axis=1)),))
    return linear, expert_linear, sent


def loss_and_gradients(types, parameters, inputs, targets):
    linear, expert_linear, sent = products_of(types)

    def loss_of(p):
        layer = lambda number, x: linear(x, p[f"layers/{number}/kernel"]) + p[f"layers/{number}/bias"]
        x = layer(0, inputs)
        weights, choices = jax.lax.top_k(jax.nn.softmax(layer(1, x)), K)
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        gate, up = jnp.split(expert_linear(sent(x), choices, p["layers/2/kernel"]), 2, axis=-1)
        made = expert_linear(jax.nn.silu(gate) * up, choices, p["layers/3/kernel"])
        predictions = layer(4, jnp.einsum("tkd,tk->td", made, weights) + x)
        return jnp.mean((targets - predictions) ** 2)

    return jax.value_and_grad(loss_of)({name: value.astype(jnp.float32) for name, value in parameters.items()})


def one_case(old):
    settings = ["model.input=6", *SIZES]
    run = {**run_file("workshop_gpipe", settings), "optimizer": old["optimizer"]}
    # Shapes of examples and targets: those of a linear layer from 6 to 5.
    run["model"] = {"name": "mintext_mlp", "din": 6, "dout": 5}
    return numbers_of(old, run, first_parameters(run["seed"]), loss_and_gradients)


def expert_precision(old):
    return [one_case(case) for case in old]
