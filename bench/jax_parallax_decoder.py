"""The system of presets/parallax_decoder.json in JAX: the same decoder-only transformer in Flax Linen, Optax's Adam, one
jitted step, arrays laid out by NamedSharding as the run file's specs say. The peer of `shardrun train`.

Run as a program it trains the run file on virtual CPU devices and prints one JSON object a step, as
`shardrun train --jsonl` does. XLA_FLAGS must not be set; the number of devices follows from the mesh.
"""

import argparse
import json
import math
import os
import sys
import time


def parse_mesh(text):
    """"4x2" -> (4, 2)"""
    return tuple(int(size) for size in text.split("x"))


def use_virtual_devices(count):
    """Must be called before JAX is imported."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.environ["JAX_PLATFORMS"] = "cpu"


def load_run_file(path, mesh_shape=None):
    """The run file with its mesh axes' sizes replaced by `mesh_shape`, and that shape."""
    with open(path) as file:
        run = json.load(file)
    axes = run["mesh"]["axes"]
    if mesh_shape:
        if len(mesh_shape) != len(axes):
            sys.exit(f"{path} has {len(axes)} mesh axes, --mesh gives {len(mesh_shape)}")
        for axis, size in zip(axes, mesh_shape):
            axis["size"] = size
    return run, tuple(axis["size"] for axis in axes)


def make_model(options):
    import jax
    import jax.numpy as jnp
    from flax import linen as nn

    class PositionalEmbedding(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x + self.param("pos_embedding", nn.initializers.normal(0.02), x.shape[1:])

    class MLP(nn.Module):
        hidden: int

        @nn.compact
        def __call__(self, x):
            features = x.shape[-1]
            x = nn.gelu(nn.Dense(self.hidden)(x))
            return nn.Dense(features)(x)

    class SelfAttentionBlock(nn.Module):
        heads: int

        @nn.compact
        def __call__(self, x, mask):
            attention = nn.SelfAttention(num_heads=self.heads, deterministic=True)
            x = x + attention(nn.LayerNorm()(x), mask=mask)
            return x + MLP(4 * x.shape[-1])(nn.LayerNorm()(x))

    class DecoderOnlyTransformer(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = PositionalEmbedding()(nn.Embed(options["vocab_size"], options["embed_dim"])(tokens))
            known = tokens > 0
            mask = nn.combine_masks(nn.make_attention_mask(known, known, dtype=jnp.bool_), nn.make_causal_mask(tokens))
            for _ in range(options["num_layers"]):
                x = SelfAttentionBlock(options["num_heads"])(x, mask)
            return nn.Dense(options["vocab_size"])(x)

    return DecoderOnlyTransformer()


def synthetic_data(run):
    import jax
    import jax.numpy as jnp

    model, data = run["model"], run["data"]
    tokens = jax.random.randint(jax.random.PRNGKey(data["seed"]), (data["batch_size"], model["seq_len"]), 0,
                                model["vocab_size"])
    return tokens, jnp.roll(tokens, -1, axis=1).at[:, -1].set(0)


def to_spec(entries):
    from jax.sharding import PartitionSpec

    return PartitionSpec(*(tuple(entry) if isinstance(entry, list) else entry for entry in entries))


def spec_entries(tree, path):
    """The entries that the run file gives the parameter at `path`; none where it does not name it."""
    for key in path:
        tree = tree.get(key.key, {}) if isinstance(tree, dict) else {}
    return tree if isinstance(tree, list) else []


def make_program(run):
    """Parameters and Adam's state on their devices, the data, and the compiled step
    (params, state, tokens, labels) -> (params, state, loss, accuracy)."""
    import jax
    import jax.numpy as jnp
    import numpy
    import optax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    axes = run["mesh"]["axes"]
    shape = [axis["size"] for axis in axes]
    devices = numpy.array(jax.devices()[: math.prod(shape)]).reshape(shape)
    mesh = Mesh(devices, [axis["name"] for axis in axes])
    sharding = run["sharding"]

    def place(spec):
        return NamedSharding(mesh, spec)

    model = make_model(run["model"])
    params = model.init(jax.random.PRNGKey(run["seed"]), jnp.ones((2, run["model"]["seq_len"]), jnp.int32))
    specs = jax.tree_util.tree_map_with_path(
        lambda path, _: place(to_spec(spec_entries(sharding["parameters"], path))), params)
    params = jax.device_put(params, specs)
    optimizer = optax.adam(run["optimizer"]["learning_rate"])
    state = jax.jit(optimizer.init)(params)
    state = jax.tree.map(
        lambda leaf, like: jax.device_put(leaf, like), state,
        optax.tree_map_params(optimizer, lambda _, spec: spec, state, specs,
                              transform_non_params=lambda _: place(PartitionSpec())))
    data_place = place(to_spec(sharding["in"]))
    tokens, labels = (jax.device_put(array, data_place) for array in synthetic_data(run))

    def loss_of(params, tokens, labels):
        logits = jax.lax.with_sharding_constraint(model.apply(params, tokens), place(to_spec(sharding["out"])))
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits

    def step(params, state, tokens, labels):
        (loss, logits), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, tokens, labels)
        updates, state = optimizer.update(gradients, state, params)
        accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == labels)
        return optax.apply_updates(params, updates), state, loss, accuracy

    out_places = jax.tree.map(lambda leaf: leaf.sharding, (params, state)) + (place(PartitionSpec()),) * 2
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=out_places)
    compiled = jitted.lower(params, state, tokens, labels).compile()
    return params, state, tokens, labels, compiled


def train(run, steps, on_step):
    """Calls on_step({"step", "loss", "accuracy", "step_ms"}) after each step; returns the parameters and the program."""
    params, state, tokens, labels, compiled = make_program(run)
    for step in range(steps):
        start = time.perf_counter()
        params, state, loss, accuracy = compiled(params, state, tokens, labels)
        loss.block_until_ready()
        milliseconds = 1000 * (time.perf_counter() - start)
        on_step({"step": step, "loss": float(loss), "accuracy": float(accuracy), "step_ms": milliseconds})
    return params, compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="run file, such as presets/parallax_decoder.json")
    parser.add_argument("--mesh", type=parse_mesh, help="sizes of the mesh axes, such as 4x2 (default: the file's)")
    parser.add_argument("--steps", type=int, help="default: the file's")
    parser.add_argument("--jsonl", default="/dev/stdout", help="where the steps go (default: standard output)")
    arguments = parser.parse_args()
    run, shape = load_run_file(arguments.file, arguments.mesh)
    use_virtual_devices(math.prod(shape))
    with open(arguments.jsonl, "w") as output:
        train(run, arguments.steps or run["steps"], lambda record: print(json.dumps(record), file=output, flush=True))


if __name__ == "__main__":
    main()
