"""Optax's updates of one parameter: each case has the options of a run file's section `optimizer`, the parameter's first
values and the gradients of some steps. Computed: its values after each step, and what the optimizer keeps of it after
the last, by the names of run files."""

import jax
import numpy
import optax
from jax_program import make_optimizer

KEPT = {"mu": "mu", "nu": "nu", "trace": "trace", "ema": "momentum"}


def kept_of(state):
    """The arrays of an Optax state by the names of run files."""
    kept = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        names = [str(getattr(key, "name", "")) for key in path]
        kept.update({KEPT[name]: [float(x) for x in leaf] for name in names if name in KEPT})
    return kept


def one_case(case):
    optimizer = make_optimizer(case, lambda path: "params/kernel")
    parameter = {"kernel": numpy.asarray(case["parameter"], numpy.float32)}
    state = optimizer.init(parameter)
    values = []
    for gradient in case["gradients"]:
        updates, state = optimizer.update({"kernel": numpy.asarray(gradient, numpy.float32)}, state, parameter)
        parameter = optax.apply_updates(parameter, updates)
        values.append([float(x) for x in parameter["kernel"]])
    return {**case, "values": values, "kept": kept_of(state)}


def optimizers(old):
    return [one_case(case) for case in old]
