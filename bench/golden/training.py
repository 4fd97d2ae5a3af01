"""The program of presets/parallax_decoder*.json: initial parameters, losses, final parameters, and what XLA made of it."""

import math
import pathlib
import re

import numpy
from jax_parallax_decoder import make_program
from jax_program import load_run_file, take_steps

PRESETS = pathlib.Path(__file__).resolve().parent.parent.parent / "presets"
COLLECTIVE = re.compile(
    r"= (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(.*")
BYTES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1}
# Bytes that a device sends for n bytes of result in a group of p, by the ring convention.
WIRE = {
    "all-gather": lambda n, p: (p - 1) / p * n,
    "all-reduce": lambda n, p: 2 * (p - 1) / p * n,
    "reduce-scatter": lambda n, p: (p - 1) * n,
    "all-to-all": lambda n, p: (p - 1) / p * n,
    "collective-permute": lambda n, p: n,
}


def in_doubles(parameters):
    return {name: numpy.asarray(array, numpy.float64) for name, array in parameters.items()}


def fingerprint(array):
    values = array.ravel()
    return {"shape": list(array.shape), "first": values[:4].tolist(), "last": float(values[-1]), "sum": float(values.sum()),
            "sumsq": float((values**2).sum())}


def group_size(line, devices):
    listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    if listed:
        return listed[1].count(",") + 1
    counted = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    return int(counted[2]) if counted else devices


def collectives(text, devices):
    found = {}
    for line in text.splitlines():
        match = COLLECTIVE.search(line)
        if not match:
            continue
        size = sum(BYTES[kind] * math.prod(int(n) for n in dims.split(",") if n)
                   for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", match[1]))
        entry = found.setdefault(match[2], {"count": 0, "result_bytes": 0, "wire_bytes_per_device": 0.0})
        entry["count"] += 1
        entry["result_bytes"] += size
        entry["wire_bytes_per_device"] += WIRE[match[2]](size, group_size(match[0], devices))
    return found


def xla_facts(compiled, devices):
    found = collectives(compiled.as_text(), devices)
    memory = compiled.memory_analysis()
    names = ("argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes", "temp_size_in_bytes")
    return {"collectives": found, "wire_bytes_per_device": sum(entry["wire_bytes_per_device"] for entry in found.values()),
            "memory": {name: getattr(memory, name) for name in names},
            "flops_per_device": compiled.cost_analysis()["flops"]}


def one_run(old):
    run, shape = load_run_file(PRESETS / f"{old['preset']}.json", tuple(old["mesh"]))
    records = []
    program = make_program(run)
    _, _, step, _ = program
    parameters = in_doubles(take_steps(program, len(old["losses"]), records.append))
    final = {name: {"sum": float(array.sum()), "norm": float(numpy.linalg.norm(array))}
             for name, array in parameters.items()}
    return {"preset": old["preset"], "mesh": old["mesh"], "losses": [record["loss"] for record in records],
            "accuracy": [record["accuracy"] for record in records], "xla": xla_facts(step, math.prod(shape)),
            "final": final}


def initial_of(program):
    state, _, _, parameters = program
    return {name: fingerprint(array) for name, array in in_doubles(parameters(state)).items()}


def parallax_decoder(old):
    run, _ = load_run_file(PRESETS / "parallax_decoder.json", (1, 1))
    return {"program": old["program"], "seed": old["seed"], "runs": [one_run(run) for run in old["runs"]],
            "initial": initial_of(make_program(run))}
