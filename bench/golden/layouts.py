"""How jax.sharding shards arrays on a mesh: drawings, index maps, and what it refuses."""

import contextlib
import io
import math

import jax
import jax.numpy as jnp
import numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def to_sharding(case):
    mesh = case["mesh"]
    order = mesh.get("devices") or range(math.prod(mesh["shape"]))
    devices = numpy.array([jax.devices()[device] for device in order]).reshape(mesh["shape"])
    spec = [tuple(entry) if isinstance(entry, list) else entry for entry in case["spec"]]
    return NamedSharding(Mesh(devices, mesh["axes"]), PartitionSpec(*spec))


def draw(case):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        jax.debug.visualize_sharding(tuple(case["shape"]), to_sharding(case), use_color=False)
    return text.getvalue()


def visualize(cases):
    return [{**case, "text": draw(case)} for case in cases]


def index_maps(cases):
    def index_map(case):
        sharding, shape = to_sharding(case), tuple(case["shape"])
        boxes = {device.id: [list(index.indices(size)[:2]) for index, size in zip(box, shape)]
                 for device, box in sharding.devices_indices_map(shape).items()}
        return {**case, "index_map": [[device, boxes[device]] for device in sorted(boxes)],
                "shard_shape": list(sharding.shard_shape(shape)), "fully_replicated": sharding.is_fully_replicated}

    return [index_map(case) for case in cases]


def errors(cases):
    def judged(case):
        asked = {key: case[key] for key in ("mesh", "spec", "shape")}
        try:
            jax.device_put(jnp.zeros(case["shape"]), to_sharding(case))
        except Exception as error:  # the very thing that is recorded
            return {**asked, "error": type(error).__name__, "message": str(error)}
        return {**asked, "error": None}

    return [judged(case) for case in cases]
