"""The system of presets/tiny_lm_dp.json and presets/tiny_lm_fsdp.json in JAX: the document's LM in Flax Linen, Optax's
AdamW, one jitted step (of several microbatches one each, joined by optax.MultiSteps); parameters and optimizer state replicated, or split over 'data' along their largest dimension
where the run file has that rule. A peer of `shardrun train`: see bench/jax_program.py.
"""

from jax_program import checkpoints_layers, linen_parameters, main, make_mesh, make_optimizer


def make_model(options, checkpointed=False):
    import jax.numpy as jnp
    from flax import linen as nn
    from jax import lax
    from jax.sharding import PartitionSpec

    def sinusoids(length, width):
        positions, columns = jnp.arange(length)[:, None], jnp.arange(0, width, 2)[None, :]
        angles = positions * jnp.exp(-(jnp.log(10000.0) / width) * columns)
        return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(length, width)

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = lax.with_sharding_constraint(nn.LayerNorm()(x), PartitionSpec("data", None))
            x = x + nn.SelfAttention(num_heads=options["n_heads"], use_bias=False, deterministic=True)(y)
            y = nn.gelu(nn.Dense(options["d_ff"])(nn.LayerNorm()(x)))
            return x + nn.Dense(options["d_model"])(y)

    class TinyLM(nn.Module):
        def setup(self):
            self.tok_emb = nn.Embed(options["vocab_size"], options["d_model"])
            self.pos_emb = self.param("pos_emb", lambda _: sinusoids(options["seq_len"], options["d_model"]))
            block = nn.remat(Block) if checkpointed else Block
            self.blocks = [block() for _ in range(options["n_layers"])]
            self.ln_f = nn.LayerNorm()
            self.head = nn.Dense(options["vocab_size"], use_bias=False)

        def __call__(self, tokens):
            x = self.tok_emb(tokens) + self.pos_emb[None]
            for block in self.blocks:
                x = block(x)
            return self.head(self.ln_f(x))

    return TinyLM()


def make_program(run):
    """See bench/jax_program.py."""
    import jax
    import jax.numpy as jnp
    import numpy
    import optax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = make_mesh(run)
    options, data = run["model"], run["data"]
    dataset = numpy.random.RandomState(data["seed"]).randint(
        0, options["vocab_size"], (data["dataset_size"], options["seq_len"]), dtype=numpy.int32)
    batches = data["dataset_size"] // data["batch_size"]
    microbatches = run.get("schedule", {}).get("microbatches", 1)

    def batch(step):
        first = step % batches * data["batch_size"]
        return (jax.device_put(dataset[first : first + data["batch_size"]], NamedSharding(mesh, PartitionSpec("data"))),)

    def place(leaf):
        spec = [None] * leaf.ndim
        if leaf.ndim and any("largest" in rule for rule in run["sharding"].get("rules", [])):
            spec[int(numpy.argmax(leaf.shape))] = "data"
        return NamedSharding(mesh, PartitionSpec(*spec))

    with jax.set_mesh(mesh):
        model = make_model(options, checkpoints_layers(run))
        params = model.init(jax.random.PRNGKey(run["seed"]), jnp.zeros((8, options["seq_len"]), jnp.int32))
        optimizer = make_optimizer(run, lambda path: "/".join(key.key for key in path))
        if microbatches > 1:
            optimizer = optax.MultiSteps(optimizer, microbatches)
        state = (params, optimizer.init(params))
        places = jax.tree.map(place, state)
        state = jax.device_put(state, places)

        def step(state, tokens):
            params, moments = state

            def loss_of(params):
                logits, targets = model.apply(params, tokens)[:, :-1], tokens[:, 1:]
                hot = jax.nn.one_hot(targets, options["vocab_size"], dtype=jnp.float32)
                loss = -(hot * jax.nn.log_softmax(logits, axis=-1)).sum(-1).mean()
                return loss, jnp.mean(jnp.argmax(logits, axis=-1) == targets)

            (loss, accuracy), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
            updates, moments = optimizer.update(gradients, moments, params)
            return (optax.apply_updates(params, updates), moments), loss, accuracy

        out = (places,) + (NamedSharding(mesh, PartitionSpec()),) * 2
        rows = batch(0)[0][: data["batch_size"] // microbatches]
        compiled = jax.jit(step, donate_argnums=0, out_shardings=out).lower(state, rows).compile()

    def whole_step(state, tokens):
        sums = 0.0
        for part in jnp.split(tokens, microbatches):
            state, *metrics = compiled(state, part)
            sums += jnp.stack(metrics) / microbatches
        return state, *sums

    return state, batch, compiled if microbatches == 1 else whole_step, lambda state: linen_parameters(state[0])


if __name__ == "__main__":
    main(__doc__, make_program)
