"""What the peers of `shardrun train` in JAX have in common. A program is made from a run file by a function
make_program(run) -> (state, batch, step, parameters): the state on its devices; batch(n), the inputs of step n;
the compiled step(state, *inputs) -> (state, loss, accuracy); parameters(state), {"params/Dense_0/kernel": array}.

Run as a program, each trains the run file on virtual CPU devices and prints one JSON object a step, as
`shardrun train --jsonl` does. The number of devices follows from the mesh; XLA_FLAGS must not say it.
"""

import argparse
import json
import math
import os
import re
import sys
import time

from run_file_settings import apply_settings


def parse_mesh(text):
    """"4x2" -> (4, 2)"""
    return tuple(int(size) for size in text.split("x"))


def use_virtual_devices(count):
    """Must be called before JAX is imported."""
    flags = [os.environ.get("XLA_FLAGS", ""), f"--xla_force_host_platform_device_count={count}"]
    os.environ["XLA_FLAGS"] = " ".join(flags).strip()
    os.environ["JAX_PLATFORMS"] = "cpu"


def load_run_file(path, mesh_shape=None, settings=()):
    """The run file with values set by their paths, its mesh axes' sizes replaced by `mesh_shape`, and that shape."""
    with open(path) as file:
        run = json.load(file)
    apply_settings(run, settings)
    axes = run["mesh"]["axes"]
    if mesh_shape:
        if len(mesh_shape) != len(axes):
            sys.exit(f"{path} has {len(axes)} mesh axes, --mesh gives {len(mesh_shape)}")
        for axis, size in zip(axes, mesh_shape):
            axis["size"] = size
    return run, tuple(axis["size"] for axis in axes)


def make_mesh(run):
    import jax
    import numpy
    from jax.sharding import Mesh

    axes = run["mesh"]["axes"]
    shape = [axis["size"] for axis in axes]
    return Mesh(numpy.array(jax.devices()[: math.prod(shape)]).reshape(shape), [axis["name"] for axis in axes])


def to_spec(entries):
    from jax.sharding import PartitionSpec

    return PartitionSpec(*(tuple(entry) if isinstance(entry, list) else entry for entry in entries))


# Beside the learning rate, which is their first argument but for constant_schedule's only one.
SCHEDULE_ARGUMENTS = {
    "constant": [],
    "linear": ["end_value", "transition_steps", "transition_begin"],
    "cosine_decay": ["decay_steps", "alpha", "exponent"],
    "warmup_constant": ["init_value", "warmup_steps"],
    "warmup_cosine_decay": ["init_value", "warmup_steps", "decay_steps", "end_value", "exponent"],
}
DEFAULTS = {"init_value": 0.0, "end_value": 0.0, "transition_begin": 0, "alpha": 0.0, "exponent": 1.0}


# Of the Optax function of the same name, by the names that run files have for them.
OPTIMIZER_ARGUMENTS = {
    "adam": ["b1", "b2", "eps"],
    "adamw": ["b1", "b2", "eps", "weight_decay"],
    "sgd": ["momentum", "nesterov"],
    "lion": ["b1", "b2", "weight_decay"],
    "set_to_zero": [],
}


def make_schedule(options):
    """The Optax schedule that a run file's section `optimizer` names."""
    import optax

    kind, rate = options.get("schedule", "constant"), options["learning_rate"]
    if kind == "constant":
        return optax.constant_schedule(rate)
    arguments = {name: options.get(name, DEFAULTS.get(name)) for name in SCHEDULE_ARGUMENTS[kind]}
    arguments["peak_value" if kind.startswith("warmup") else "init_value"] = rate
    return getattr(optax, f"{kind}_schedule")(**arguments)


def matches(pattern, name):
    """Whether a name fits a run file's pattern: `*` stands for text within a part, `**` for any parts."""
    parts = re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(parts, name) is not None


def make_optimizer(run, name_of):
    """The Optax optimizer that the run file describes; name_of(path) is the name of the parameter of a leaf."""
    import jax
    import optax

    options = run["optimizer"]
    rates = [] if options["name"] == "set_to_zero" else [make_schedule(options)]
    given = {name: options[name] for name in OPTIMIZER_ARGUMENTS[options["name"]] if name in options}
    if options["name"] in ("adamw", "lion"):
        patterns = [part.strip() for part in options.get("decay_mask", "**").split(",")]
        given["mask"] = lambda params: jax.tree_util.tree_map_with_path(
            lambda path, _: any(matches(pattern, name_of(path)) for pattern in patterns), params)
    if options["name"] == "sgd" and not options.get("momentum"):
        decay = options.get("decay", 0.9)
        optimizer = optax.chain(optax.ema(decay, debias=False), optax.scale_by_learning_rate(*rates))
    else:
        optimizer = getattr(optax, options["name"])(*rates, **given)
    norm = options.get("clip_by_global_norm", 0)
    return optax.chain(optax.clip_by_global_norm(norm), optimizer) if norm else optimizer


def checkpoints_layers(run):
    """Whether each layer is under jax.checkpoint."""
    policy = run.get("schedule", {}).get("rematerialise", "none")
    if policy not in ("none", "full"):
        sys.exit(f"schedule.rematerialise is {policy}: this program knows none and full")
    return policy == "full"


def linen_parameters(params):
    import jax

    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    return {"/".join(key.key for key in path): leaf for path, leaf in leaves}


def take_steps(program, steps, on_step):
    """Calls on_step({"step", "loss", "accuracy", "step_ms"}) after each step; returns the parameters. A step is timed from
    its inputs being on the devices to all its results being there."""
    import jax

    state, batch, step, parameters = program
    for number in range(steps):
        inputs = jax.block_until_ready(batch(number))
        start = time.perf_counter()
        state, loss, accuracy = jax.block_until_ready(step(state, *inputs))
        milliseconds = 1000 * (time.perf_counter() - start)
        on_step({"step": number, "loss": float(loss), "accuracy": float(accuracy), "step_ms": milliseconds})
    return parameters(state)


def main(description, make_program):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="run file, such as presets/tiny_lm_dp.json")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change a value of the run file")
    parser.add_argument("--mesh", type=parse_mesh, help="sizes of the mesh axes, such as 4x2 (default: the file's)")
    parser.add_argument("--steps", type=int, help="default: the file's")
    parser.add_argument("--jsonl", default="/dev/stdout", help="where the steps go (default: standard output)")
    arguments = parser.parse_args()
    run, shape = load_run_file(arguments.file, arguments.mesh, arguments.set)
    use_virtual_devices(math.prod(shape))
    with open(arguments.jsonl, "w") as output:
        take_steps(make_program(run), arguments.steps or run["steps"],
                   lambda record: print(json.dumps(record), file=output, flush=True))
