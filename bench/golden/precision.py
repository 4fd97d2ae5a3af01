"""Recipes of precision in JAX and Optax: relu(x w1 + b1) w2 with mean squared error, the model of preset
mintext_mlp in other sizes, with the optimizer, the precision and the microbatches of a case. Each cast of a recipe is written out, and nothing is compiled, so that XLA keeps no excess
precision between operations. Computed: losses, and the parameters and what the optimizer keeps after the last step."""

import jax
import jax.numpy as jnp
import numpy
import optax
from flax import nnx
from jax_program import make_optimizer
from nnx_systems import MintextMlp, batches, loss_of, run_file
from optimizers import KEPT

TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}
SIZES = ["model.din=6", "model.dmid=24", "model.dout=5", "data.kind=normal", "data.batch_size=32"]
KEYS = ("compute", "parameters", "master", "gradients", "reduction", "moments")
RECIPES = {"f32": ("f32", "f32", "none", "f32", "f32", "f32"), "bf16": ("bf16", "bf16", "none", "bf16", "bf16", "bf16"),
           "bf16_mixed": ("bf16", "bf16", "f32", "f32", "f32", "f32")}


def types_of(precision):
    if isinstance(precision, str):
        return dict(zip(KEYS, RECIPES[precision]))
    compute, parameters = precision.get("compute", "f32"), precision.get("parameters", "f32")
    master = precision.get("master", "none")
    return {"compute": compute, "parameters": parameters, "master": master,
            "gradients": precision.get("gradients", parameters), "reduction": precision.get("reduction", compute),
            "moments": precision.get("moments", parameters if master == "none" else master)}


def gradients_of(types, parameters, inputs, targets):
    """By hand, so that products and sums give gradients of parameters in the type of `reduction`."""
    compute, reduction = TYPES[types["compute"]], TYPES[types["reduction"]]
    full = jnp.float32

    def product(equation, x, y, result):
        return jnp.einsum(equation, x, y, preferred_element_type=full).astype(result)

    x, w1, w2 = inputs.astype(compute), parameters["w1"].astype(compute), parameters["w2"].astype(compute)
    before = (product("bi,im->bm", x, w1, compute).astype(full)
              + parameters["b1"].astype(compute).astype(full)).astype(compute)
    hidden = jnp.maximum(before, 0)
    predictions = product("bm,mo->bo", hidden, w2, compute).astype(full)
    loss = loss_of(predictions, targets)
    d_predictions = (2 / predictions.size * (predictions - targets)).astype(compute)
    d_hidden = product("bo,mo->bm", d_predictions, w2, compute)
    d_before = jnp.where(hidden > 0, d_hidden, 0)
    return loss, {"w1": product("bi,bm->im", x, d_before, reduction),
                  "b1": jnp.sum(d_before.astype(full), axis=0).astype(reduction),
                  "w2": product("bm,bo->mo", hidden, d_predictions, reduction)}


def cast(tree, dtype):
    return jax.tree.map(lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def rounded(array):
    return [float(f"{x:.8g}") for x in numpy.asarray(array, numpy.float64).ravel()]


def numbers_of(old, run, first, gradients_of):
    """A case with its numbers: of parameters that are `first`, where gradients_of(types, parameters, inputs, targets)
    are the loss and the gradients."""
    types = types_of(old["precision"])
    parameters = cast(first, TYPES[types["parameters"]])
    master = cast(first, jnp.float32) if types["master"] != "none" else None
    optimizer = make_optimizer(run, lambda path: "params/" + path[-1].key)
    state = cast(optimizer.init(cast(first, jnp.float32)), TYPES[types["moments"]])
    parts = old["microbatches"]
    losses = []
    for inputs, targets in batches(run, old["steps"]):
        rows, loss, sums = len(inputs) // parts, 0, None
        for part in range(parts):
            chosen = slice(part * rows, (part + 1) * rows)
            part_loss, gradients = gradients_of(types, parameters, jnp.asarray(inputs[chosen], jnp.float32),
                                                jnp.asarray(targets[chosen], jnp.float32))
            loss += float(part_loss) / parts
            gradients = cast(gradients, TYPES[types["gradients"]])
            if parts > 1:
                shares = jax.tree.map(lambda g: g.astype(jnp.float32) / parts, gradients)
                sums = shares if sums is None else jax.tree.map(lambda a, b: a.astype(jnp.float32) + b, sums, shares)
                sums = cast(sums, TYPES[types["gradients"]])
            else:
                sums = gradients
        # Optax computes in f32; what is kept is rounded.
        updated = cast(parameters if master is None else master, jnp.float32)
        updates, state = optimizer.update(cast(sums, jnp.float32), cast(state, jnp.float32), updated)
        updated = optax.apply_updates(updated, updates)
        state = cast(state, TYPES[types["moments"]])
        master = None if master is None else updated
        parameters = cast(updated, TYPES[types["parameters"]])
        losses.append(loss)
    numbers = lambda tree: {name: rounded(value) for name, value in tree.items()}
    kept = {"master": numbers(master)} if master is not None else {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        names = [str(getattr(key, "name", "")) for key in path]
        for name in names:
            if name in KEPT:
                kept.setdefault(KEPT[name], {})[path[-1].key] = rounded(leaf)
    return {**old, "losses": losses, "parameters": numbers(parameters), "kept": kept}


def one_case(old):
    run = {**run_file("mintext_mlp", SIZES), "optimizer": old["optimizer"]}
    model = MintextMlp(run["model"], nnx.Rngs(run["seed"]))
    first = {name: jnp.asarray(getattr(model, name)[...]) for name in ("w1", "b1", "w2")}
    return numbers_of(old, run, first, gradients_of)


def precision(old):
    return [one_case(case) for case in old]
