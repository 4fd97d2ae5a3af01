"""The system of presets/mintext_transformer.json in JAX: the model of bench/golden/nnx_systems.py, laid out by the run
file's logical rules and constraints, Optax's Adam, one jitted step. A peer of `shardrun train`: see bench/jax_program.py.
"""

import pathlib
import sys

from jax_program import main, make_mesh, to_spec

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "golden"))

# Logical names of the parameters' dimensions, by the last part of their paths.
LOGICAL = {"embedding": ("vocab", "d_model"), "q": ("d_model", "query_heads", "key_dim"),
           "k": ("d_model", "key_heads", "key_dim"), "v": ("d_model", "key_heads", "key_dim"),
           "proj": ("query_heads", "key_dim", "d_model"), "w1": ("d_model", "d_ff"), "w2": ("d_ff", "d_model"),
           "gamma": ("d_model",)}


def make_program(run):
    """See bench/jax_program.py."""
    import jax
    import jax.numpy as jnp
    from flax import nnx
    from jax.sharding import NamedSharding, PartitionSpec

    from jax_nnx_gpt2 import name_of, parameters_of
    import nnx_systems

    mesh = make_mesh(run)
    rules = run["sharding"]["rules"][0]["axes"]
    constraints = {name: NamedSharding(mesh, to_spec(spec)) for name, spec in run["sharding"]["constraints"].items()}

    def place_activation(name, array):
        return jax.lax.with_sharding_constraint(array, constraints[name]) if name in constraints else array

    nnx_systems.TransformerLayer.place = staticmethod(place_activation)
    model = nnx_systems.MintextTransformer(run["model"], nnx.Rngs(run["seed"]))
    optimizer = nnx.Optimizer(model, nnx_systems.optax.adam(run["optimizer"]["learning_rate"]), wrt=nnx.Param)
    definition, state = nnx.split((model, optimizer))

    def place(path, leaf):
        found = [LOGICAL[name_of(key)] for key in path if name_of(key) in LOGICAL] if leaf.ndim else []
        return NamedSharding(mesh, PartitionSpec(*(rules[name] for name in found[0])) if found else PartitionSpec())

    places = jax.tree_util.tree_map_with_path(place, state)
    state = jax.device_put(state, places)
    tokens, labels = (jax.device_put(array, NamedSharding(mesh, PartitionSpec(rules["batch"], rules["sequence"])))
                      for array in next(nnx_systems.batches(run, 1)))

    def step(state, tokens, labels):
        model, optimizer = nnx.merge(definition, state)

        def loss_of(model):
            logits = model(tokens)
            return nnx_systems.loss_of(logits, labels), jnp.mean(jnp.argmax(logits, axis=-1) == labels)

        (loss, accuracy), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), loss, accuracy

    out = (places,) + (NamedSharding(mesh, PartitionSpec()),) * 2
    compiled = jax.jit(step, donate_argnums=0, out_shardings=out).lower(state, tokens, labels).compile()
    return state, lambda _: (tokens, labels), compiled, lambda state: parameters_of(nnx.merge(definition, state)[0])


if __name__ == "__main__":
    main(__doc__, make_program)
