"""The system of presets/parallax_decoder.json in JAX: the same decoder-only transformer in Flax Linen, Optax's Adam, one
jitted step, arrays laid out by NamedSharding as the run file's specs say. A peer of `shardrun train`: see
bench/jax_program.py.
"""

from jax_program import linen_parameters, main, make_mesh, matches, to_spec


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


def spec_entries(tree, path):
    """The entries that the run file gives the parameter at `path`, by the first names or patterns that fit all of it;
    none where it does not name it."""
    if not path:
        return tree if isinstance(tree, list) else None
    fits = [entry for name, entry in tree.items() if matches(name, path[0].key)] if isinstance(tree, dict) else []
    return next(filter(None, (spec_entries(entry, path[1:]) for entry in fits)), [])


def make_program(run):
    """See bench/jax_program.py."""
    import jax
    import jax.numpy as jnp
    import optax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = make_mesh(run)
    sharding = run["sharding"]

    def place(spec):
        return NamedSharding(mesh, spec)

    model = make_model(run["model"])
    params = model.init(jax.random.PRNGKey(run["seed"]), jnp.ones((2, run["model"]["seq_len"]), jnp.int32))
    specs = jax.tree_util.tree_map_with_path(
        lambda path, _: place(to_spec(spec_entries(sharding["parameters"], path))), params)
    params = jax.device_put(params, specs)
    optimizer = optax.adam(run["optimizer"]["learning_rate"])
    moments = jax.jit(optimizer.init)(params)
    moments = jax.tree.map(
        lambda leaf, like: jax.device_put(leaf, like), moments,
        optax.tree_map_params(optimizer, lambda _, spec: spec, moments, specs,
                              transform_non_params=lambda _: place(PartitionSpec())))
    state = (params, moments)
    data_place = place(to_spec(sharding["in"]))
    tokens, labels = (jax.device_put(array, data_place) for array in synthetic_data(run))

    def step(state, tokens, labels):
        params, moments = state

        def loss_of(params):
            logits = jax.lax.with_sharding_constraint(model.apply(params, tokens), place(to_spec(sharding["out"])))
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits

        (loss, logits), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, moments = optimizer.update(gradients, moments, params)
        accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == labels)
        return (optax.apply_updates(params, updates), moments), loss, accuracy

    out = (jax.tree.map(lambda leaf: leaf.sharding, state),) + (place(PartitionSpec()),) * 2
    compiled = jax.jit(step, donate_argnums=0, out_shardings=out).lower(state, tokens, labels).compile()
    return state, lambda _: (tokens, labels), compiled, lambda state: linen_parameters(state[0])


if __name__ == "__main__":
    main(__doc__, make_program)
