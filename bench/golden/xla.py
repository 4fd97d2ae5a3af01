"""What XLA makes of the presets' peers in JAX on several meshes: the bytes that its collectives send for each device, by the
ring convention, and its memory."""

import math

import jax_mintext_transformer
import jax_parallax_decoder
from jax_program import load_run_file
from training import PRESETS, xla_facts

PROGRAMS = {"decoder_only_transformer": jax_parallax_decoder, "mintext_transformer": jax_mintext_transformer}


def one_case(old):
    run, shape = load_run_file(PRESETS / f"{old['preset']}.json", tuple(old["mesh"]))
    _, _, step, _ = PROGRAMS[run["model"]["name"]].make_program(run)
    facts = xla_facts(step, math.prod(shape))
    return {"preset": old["preset"], "mesh": old["mesh"], "wire_bytes_per_device": facts["wire_bytes_per_device"],
            "memory": facts["memory"]}


def xla(old):
    return [one_case(case) for case in old]
