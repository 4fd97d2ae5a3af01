"""What the peers of `shardrun train` in JAX have in common. A program is made from a run file by a function
make_program(run) -> (state, batch, step, parameters): the state on its devices; batch(n), the inputs of step n;
the compiled step(state, *inputs) -> (state, loss, accuracy); parameters(state), {"params/Dense_0/kernel": array}.
"""

import argparse
import json
import math
import time

from jax_parallax_decoder import load_run_file, parse_mesh, use_virtual_devices


def make_mesh(run):
    import jax
    import numpy
    from jax.sharding import Mesh

    axes = run["mesh"]["axes"]
    shape = [axis["size"] for axis in axes]
    return Mesh(numpy.array(jax.devices()[: math.prod(shape)]).reshape(shape), [axis["name"] for axis in axes])


def take_steps(program, steps, on_step):
    """Calls on_step({"step", "loss", "accuracy", "step_ms"}) after each step; returns the parameters."""
    state, batch, step, parameters = program
    for number in range(steps):
        start = time.perf_counter()
        state, loss, accuracy = step(state, *batch(number))
        loss.block_until_ready()
        milliseconds = 1000 * (time.perf_counter() - start)
        on_step({"step": number, "loss": float(loss), "accuracy": float(accuracy), "step_ms": milliseconds})
    return parameters(state)


def main(description, make_program):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="run file, such as presets/tiny_lm_dp.json")
    parser.add_argument("--mesh", type=parse_mesh, help="sizes of the mesh axes, such as 4x2 (default: the file's)")
    parser.add_argument("--steps", type=int, help="default: the file's")
    parser.add_argument("--jsonl", default="/dev/stdout", help="where the steps go (default: standard output)")
    arguments = parser.parse_args()
    run, shape = load_run_file(arguments.file, arguments.mesh)
    use_virtual_devices(math.prod(shape))
    with open(arguments.jsonl, "w") as output:
        take_steps(make_program(run), arguments.steps or run["steps"],
                   lambda record: print(json.dumps(record), file=output, flush=True))
