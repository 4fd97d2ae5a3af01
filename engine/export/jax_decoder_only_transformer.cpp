#include "engine/export/jax_model.h"

namespace shardscope {

// bench/jax_parallax_decoder.py, with its dropout.
JaxModel jax_decoder_only_transformer() {
  return {"decoder_only_transformer",
          JaxModel::Library::linen,
          "DecoderOnlyTransformer()",
          R"(
class PositionalEmbedding(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + self.param("pos_embedding", nn.initializers.normal(0.02), x.shape[1:])


class MLP(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x):
        features = x.shape[-1]
        x = nn.Dense(self.hidden)(x)  #@ SelfAttentionBlock_*/MLP_0/Dense_0/add
        x = nn.gelu(x)  #@ SelfAttentionBlock_*/MLP_0/gelu
        dropout = nn.Dropout(DROPOUT_RATE, deterministic=False)  #? dropout
        x = dropout(x)  #? dropout  #@ SelfAttentionBlock_*/MLP_0/Dropout_0/dropout
        x = nn.Dense(features)(x)  #@ SelfAttentionBlock_*/MLP_0/Dense_1/add
        return x


class SelfAttentionBlock(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        y = nn.LayerNorm()(x)  #@ SelfAttentionBlock_*/LayerNorm_0/layer_norm
        attention = nn.SelfAttention(  #? dropout
            num_heads=NUM_HEADS, dropout_rate=DROPOUT_RATE, broadcast_dropout=False, deterministic=False  #? dropout
        )  #? dropout
        attention = nn.SelfAttention(num_heads=NUM_HEADS, deterministic=True)  #! dropout
        y = attention(y, mask=mask)  #@ SelfAttentionBlock_*/SelfAttention_0/out/add
        y = nn.Dropout(DROPOUT_RATE, deterministic=False)(y)  #? dropout  #@ SelfAttentionBlock_*/Dropout_0/dropout
        x = x + y  #@ SelfAttentionBlock_*/add
        y = nn.LayerNorm()(x)  #@ SelfAttentionBlock_*/LayerNorm_1/layer_norm
        y = MLP(4 * EMBED_DIM)(y)
        y = nn.Dropout(DROPOUT_RATE, deterministic=False)(y)  #? dropout  #@ SelfAttentionBlock_*/Dropout_1/dropout
        x = x + y  #@ SelfAttentionBlock_*/add_1
        return x


class DecoderOnlyTransformer(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        known = tokens > 0
        mask = nn.combine_masks(nn.make_attention_mask(known, known, dtype=jnp.bool_), nn.make_causal_mask(tokens))
        x = nn.Embed(VOCAB_SIZE, EMBED_DIM)(tokens)  #@ Embed_0/embedding
        x = PositionalEmbedding()(x)  #@ PositionalEmbedding_0/add
        x = nn.Dropout(DROPOUT_RATE, deterministic=False)(x)  #? dropout  #@ Dropout_0/dropout
        block = nn.remat(SelfAttentionBlock)  #? remat
        for i in range(NUM_LAYERS):
            x = block(name=f"SelfAttentionBlock_{i}")(x, mask)  #? remat
            x = SelfAttentionBlock()(x, mask)  #! remat
        return nn.Dense(VOCAB_SIZE)(x)
)",
          jax_cross_entropy,
          {{"compute_dtype", "f32"}}};
}

}  // namespace shardscope
