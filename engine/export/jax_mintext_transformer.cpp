#include "engine/export/jax_model.h"

namespace shardscope {

// MintextTransformer of bench/golden/nnx_systems.py.
JaxModel jax_mintext_transformer() {
  return {"mintext_transformer", JaxModel::Library::nnx, "MintextTransformer(nnx.Rngs(SEED))", R"(
he_normal = jax.nn.initializers.he_normal()


def einsum(equation, x, y, dtype=jnp.float32):
    return jnp.einsum(equation, x.astype(dtype), y.astype(dtype))


class RMSNorm(nnx.Module):
    def __init__(self, dim, rngs):
        self.gamma = nnx.Param(jax.nn.initializers.ones(rngs.params(), (dim,)))

    def __call__(self, x):
        return self.gamma[...] * x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)


class TransformerLayer(nnx.Module):
    def __init__(self, rngs):
        hidden = FFW_MULTIPLIER * D_MODEL
        self.q = nnx.Param(he_normal(rngs.params(), (D_MODEL, NUM_HEADS, KEY_DIM)))
        self.k = nnx.Param(he_normal(rngs.params(), (D_MODEL, KV_HEADS, KEY_DIM)))
        self.v = nnx.Param(he_normal(rngs.params(), (D_MODEL, KV_HEADS, KEY_DIM)))
        self.proj = nnx.Param(he_normal(rngs.params(), (NUM_HEADS, KEY_DIM, D_MODEL)))
        self.w1 = nnx.Param(he_normal(rngs.params(), (D_MODEL, hidden)))
        self.w2 = nnx.Param(he_normal(rngs.params(), (hidden, D_MODEL)))
        self.norm1, self.norm2 = RMSNorm(D_MODEL, rngs), RMSNorm(D_MODEL, rngs)

    def __call__(self, x):
        y = self.norm1(x)  #@ layers/*/norm1/rms_norm
        q = einsum("btd,dhq->bthq", y, self.q[...], COMPUTE_DTYPE)  #@ layers/*/q/einsum
        k = einsum("btd,dhk->bthk", y, self.k[...], COMPUTE_DTYPE)  #@ layers/*/k/einsum
        v = einsum("btd,dhv->bthv", y, self.v[...], COMPUTE_DTYPE)  #@ layers/*/v/einsum
        # Query head i uses key head i / group.
        group = NUM_HEADS // KV_HEADS
        k, v = (jnp.repeat(array, group, axis=2) for array in (k, v))
        scores = einsum("bthd,bshd->bhts", q, k) * KEY_DIM**-0.5
        y = einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v)  #@ layers/*/attention
        y = einsum("bthv,hvd->btd", y, self.proj[...], COMPUTE_DTYPE)  #@ layers/*/proj/einsum
        x = x + y  #@ layers/*/attn_residual
        y = self.norm2(x)  #@ layers/*/norm2/rms_norm
        y = einsum("btd,df->btf", y, self.w1[...], COMPUTE_DTYPE).astype(FFW_DTYPE)  #@ layers/*/w1/einsum
        y = jax.nn.gelu(y)  #@ layers/*/gelu
        y = einsum("btf,fd->btd", y, self.w2[...], COMPUTE_DTYPE).astype(FFW_DTYPE)  #@ layers/*/w2/einsum
        x = x + y  #@ layers/*/ffw_residual
        return x


class MintextTransformer(nnx.Module):
    def __init__(self, rngs):
        self.embedding = nnx.Param(he_normal(rngs.params(), (VOCAB_SIZE, D_MODEL)))
        self.layers = nnx.List([TransformerLayer(rngs) for _ in range(NUM_LAYERS)])

    def __call__(self, tokens):
        x = jnp.take(self.embedding[...], tokens, axis=0)  #@ embedding
        for layer in self.layers:
            x = nnx.remat(TransformerLayer.__call__)(layer, x)  #? remat
            x = layer(x)  #! remat
        return einsum("btd,vd->btv", x, self.embedding[...], COMPUTE_DTYPE).astype(jnp.float32)
)",
          jax_cross_entropy};
}

}  // namespace shardscope
