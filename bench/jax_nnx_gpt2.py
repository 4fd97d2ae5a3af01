"""The system of presets/nnx_gpt2.json in JAX: the slides' GPT-2 in Flax NNX, Optax's Adam, one jitted step, arrays laid
out by NamedSharding as the run file's specs say. A peer of `shardrun train`: see bench/jax_program.py.
"""

from jax_program import checkpoints_layers, main, make_mesh, make_optimizer, to_spec


def make_model(options, seed, checkpointed=False):
    import jax.numpy as jnp
    from flax import nnx

    xavier = nnx.initializers.xavier_uniform()
    embed, rate = options["embed_dim"], options["dropout_rate"]

    class TransformerBlock(nnx.Module):
        def __init__(self, rngs):
            self.layer_norm1 = nnx.LayerNorm(epsilon=1e-6, num_features=embed, rngs=rngs)
            self.mha = nnx.MultiHeadAttention(num_heads=options["num_heads"], in_features=embed, kernel_init=xavier,
                                              rngs=rngs)
            self.dropout1 = nnx.Dropout(rate=rate, rngs=rngs)
            self.layer_norm2 = nnx.LayerNorm(epsilon=1e-6, num_features=embed, rngs=rngs)
            self.linear1 = nnx.Linear(embed, options["ff_dim"], kernel_init=xavier, rngs=rngs)
            self.linear2 = nnx.Linear(options["ff_dim"], embed, kernel_init=xavier, rngs=rngs)
            self.dropout2 = nnx.Dropout(rate=rate, rngs=rngs)

        def __call__(self, x, training):
            mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1])))
            y = self.mha(self.layer_norm1(x), mask=mask, decode=False)
            x = x + self.dropout1(y, deterministic=not training)
            y = self.linear2(nnx.gelu(self.linear1(self.layer_norm2(x))))
            return x + self.dropout2(y, deterministic=not training)

    class GPT2(nnx.Module):
        def __init__(self, rngs):
            self.token_emb = nnx.Embed(options["vocab_size"], embed, rngs=rngs)
            self.pos_emb = nnx.Embed(options["seq_len"], embed, rngs=rngs)
            self.blocks = nnx.List([TransformerBlock(rngs) for _ in range(options["num_layers"])])
            self.layer_norm = nnx.LayerNorm(epsilon=1e-6, num_features=embed, rngs=rngs)
            self.head = nnx.Linear(embed, options["vocab_size"], use_bias=False, rngs=rngs)

        def __call__(self, tokens, training):
            x = self.token_emb(tokens) + self.pos_emb(jnp.arange(tokens.shape[1]))
            call = TransformerBlock.__call__
            if checkpointed:
                call = nnx.remat(call, static_argnums=2)
            for block in self.blocks:
                x = call(block, x, training)
            return self.head(self.layer_norm(x))

    return GPT2(nnx.Rngs(seed))


def name_of(key):
    return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", ""))))


def parameter_name(path):
    names = [name_of(key) for key in path]
    return "/".join(["params"] + (names[:-1] if names[-1] == "value" else names))


def parameters_of(model):
    """{"params/blocks/0/mha/query/kernel": array}"""
    from flax import nnx

    state = nnx.to_pure_dict(nnx.state(model, nnx.Param))

    def flat(tree, path):
        if not isinstance(tree, dict):
            return {"/".join(path): tree}
        return {name: leaf for key, below in tree.items() for name, leaf in flat(below, path + [str(key)]).items()}

    return flat(state, ["params"])


def make_program(run):
    """See bench/jax_program.py."""
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = make_mesh(run)
    sharding, data, options = run["sharding"], run["data"], run["model"]
    specs = sharding["parameters"]["params"]["**"]

    model = make_model(options, run["seed"], checkpoints_layers(run))
    optimizer = nnx.Optimizer(model, make_optimizer(run, parameter_name), wrt=nnx.Param)
    definition, state = nnx.split((model, optimizer))

    def place(path, leaf):
        names = [name_of(key) for key in path]
        found = [specs[name] for name in names if name in specs] if leaf.ndim else []
        return NamedSharding(mesh, to_spec(found[0]) if found else PartitionSpec())

    places = jax.tree_util.tree_map_with_path(place, state)
    state = jax.device_put(state, places)
    tokens = jax.random.randint(jax.random.PRNGKey(data["seed"]), (data["batch_size"], options["seq_len"]), 0,
                                options["vocab_size"])
    batch = NamedSharding(mesh, to_spec(sharding["in"]))
    tokens, labels = (jax.device_put(array, batch) for array in (tokens, jnp.roll(tokens, -1, axis=1)))

    def step(state, tokens, labels):
        model, optimizer = nnx.merge(definition, state)

        def loss_of(model):
            logits = model(tokens, training=not run["deterministic"])
            logits = jax.lax.with_sharding_constraint(logits, NamedSharding(mesh, to_spec(sharding["out"])))
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits

        (loss, logits), gradients = nnx.value_and_grad(loss_of, has_aux=True)(model)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), loss, jnp.mean(jnp.argmax(logits, axis=-1) == labels)

    out = (places,) + (NamedSharding(mesh, PartitionSpec()),) * 2
    compiled = jax.jit(step, donate_argnums=0, out_shardings=out).lower(state, tokens, labels).compile()
    return state, lambda _: (tokens, labels), compiled, lambda state: parameters_of(nnx.merge(definition, state)[0])


if __name__ == "__main__":
    main(__doc__, make_program)
