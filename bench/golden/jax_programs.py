"""The programs bench/jax_tiny_lm.py and bench/jax_nnx_gpt2.py on their presets, at several sizes and from several seeds:
initial parameters, losses, final parameters; and the bytes that XLA's programs of the presets move on their meshes."""

import copy
import json
import math
import pathlib

import jax_nnx_gpt2
import jax_tiny_lm
import numpy
from jax_program import take_steps
from training import in_doubles, initial_of, xla_facts

PRESETS = pathlib.Path(__file__).resolve().parent.parent.parent / "presets"
PROGRAMS = {"tiny_lm": jax_tiny_lm, "nnx_gpt2": jax_nnx_gpt2}


def run_file(preset, settings):
    """The preset as `shardrun --set` changes it."""
    run = json.loads((PRESETS / f"{preset}.json").read_text())
    for setting in settings:
        path, value = setting.split("=")
        section, _, key = path.rpartition(".")
        axis = next((axis for axis in run["mesh"]["axes"] if section == "mesh" and axis["name"] == key), None)
        place = axis if axis else run.setdefault(section, {}) if section else run
        place["size" if axis else key] = json.loads(value)
    return run


def make_program(run):
    return PROGRAMS[run["model"]["name"]].make_program(run)


def on_one_device(run):
    run = copy.deepcopy(run)
    for axis in run["mesh"]["axes"]:
        axis["size"] = 1
    return run


def one_run(old):
    records = []
    run = on_one_device(run_file(old["preset"], old["set"]))
    parameters = in_doubles(take_steps(make_program(run), old["steps"], records.append))
    final = {name: float(numpy.linalg.norm(array)) for name, array in parameters.items()}
    return {"preset": old["preset"], "set": old["set"], "steps": old["steps"],
            "losses": [record["loss"] for record in records], "final": final}


def moved(old):
    run = run_file(old["preset"], old["set"])
    devices = math.prod(axis["size"] for axis in run["mesh"]["axes"])
    _, _, step, _ = make_program(run)
    return {"preset": old["preset"], "set": old["set"],
            "wire_bytes_per_device": xla_facts(step, devices)["wire_bytes_per_device"]}


def jax_programs(old):
    return {"initial": {preset: initial_of(make_program(on_one_device(run_file(preset, [])))) for preset in old["initial"]},
            "runs": [one_run(run) for run in old["runs"]], "moved": [moved(run) for run in old["moved"]]}
