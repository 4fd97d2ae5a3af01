#include "engine/export/jax_model.h"

namespace shardscope {

// bench/jax_tiny_lm.py.
JaxModel jax_tiny_lm() {
  return {"tiny_lm", JaxModel::Library::linen,  "TinyLM()", R"(
def sinusoids(length, width):
    positions, columns = jnp.arange(length)[:, None], jnp.arange(0, width, 2)[None, :]
    angles = positions * jnp.exp(-(jnp.log(10000.0) / width) * columns)
    return jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(length, width).astype(jnp.float32)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)  #@ blocks_*/LayerNorm_0/layer_norm
        attention = nn.SelfAttention(num_heads=N_HEADS, use_bias=False, deterministic=True)
        y = attention(y)  #@ blocks_*/SelfAttention_0/out/einsum
        x = x + y  #@ blocks_*/add
        y = nn.LayerNorm()(x)  #@ blocks_*/LayerNorm_1/layer_norm
        y = nn.Dense(D_FF)(y)  #@ blocks_*/Dense_0/add
        y = nn.gelu(y)  #@ blocks_*/gelu
        y = nn.Dense(D_MODEL)(y)  #@ blocks_*/Dense_1/add
        x = x + y  #@ blocks_*/add_1
        return x


class TinyLM(nn.Module):
    def setup(self):
        self.tok_emb = nn.Embed(VOCAB_SIZE, D_MODEL)
        self.pos_emb = self.param("pos_emb", lambda _: sinusoids(SEQ_LEN, D_MODEL))
        self.blocks = [nn.remat(Block)() for _ in range(N_LAYERS)]  #? remat
        self.blocks = [Block() for _ in range(N_LAYERS)]  #! remat
        self.ln_f = nn.LayerNorm()
        self.head = nn.Dense(VOCAB_SIZE, use_bias=False)

    def __call__(self, tokens):
        x = self.tok_emb(tokens)  #@ tok_emb/embedding
        x = x + self.pos_emb[None]  #@ add
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)  #@ ln_f/layer_norm
        return self.head(x)

)",
          R"(
def losses(logits, batch):
    logits, targets = logits[:, :-1], batch["tokens"][:, 1:]
    hot = jax.nn.one_hot(targets, VOCAB_SIZE, dtype=jnp.float32)
    loss = -(hot * jax.nn.log_softmax(logits, axis=-1)).sum(-1).mean()
    return loss, {"accuracy": jnp.mean(jnp.argmax(logits, axis=-1) == targets)}
)",       {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
