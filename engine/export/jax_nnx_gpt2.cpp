#include "engine/export/jax_model.h"

namespace shardscope {

namespace {

std::vector<std::string_view> flags(const OptionList& options) {
  for (const auto& [name, value] : options) {
    if (name == "tied_embedding" && value == OptionValue(true)) return {"tied"};
  }
  return {};
}

}  // namespace

// bench/jax_nnx_gpt2.py. Dropout is built without being used, too: it draws a key.
JaxModel jax_nnx_gpt2() {
  return {"nnx_gpt2", JaxModel::Library::nnx, "Gpt2(nnx.Rngs(SEED))",
          R"(
xavier = nnx.initializers.xavier_uniform()


class TransformerBlock(nnx.Module):
    def __init__(self, rngs):
        self.layer_norm1 = nnx.LayerNorm(epsilon=1e-6, num_features=EMBED_DIM, rngs=rngs)
        self.mha = nnx.MultiHeadAttention(num_heads=NUM_HEADS, in_features=EMBED_DIM, kernel_init=xavier, rngs=rngs)
        self.dropout1 = nnx.Dropout(rate=DROPOUT_RATE, rngs=rngs)
        self.layer_norm2 = nnx.LayerNorm(epsilon=1e-6, num_features=EMBED_DIM, rngs=rngs)
        self.linear1 = nnx.Linear(EMBED_DIM, FF_DIM, kernel_init=xavier, rngs=rngs)
        self.linear2 = nnx.Linear(FF_DIM, EMBED_DIM, kernel_init=xavier, rngs=rngs)
        self.dropout2 = nnx.Dropout(rate=DROPOUT_RATE, rngs=rngs)

    def __call__(self, x):
        mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1])))
        y = self.layer_norm1(x)  #@ blocks/*/layer_norm1/layer_norm
        y = self.mha(y, mask=mask, decode=False)  #@ blocks/*/mha/out/add
        y = self.dropout1(y)  #? dropout  #@ blocks/*/dropout1/dropout
        x = x + y  #@ blocks/*/add
        y = self.layer_norm2(x)  #@ blocks/*/layer_norm2/layer_norm
        y = self.linear1(y)  #@ blocks/*/linear1/add
        y = nnx.gelu(y)  #@ blocks/*/gelu
        y = self.linear2(y)  #@ blocks/*/linear2/add
        y = self.dropout2(y)  #? dropout  #@ blocks/*/dropout2/dropout
        x = x + y  #@ blocks/*/add_1
        return x


class Gpt2(nnx.Module):
    def __init__(self, rngs):
        self.token_emb = nnx.Embed(VOCAB_SIZE, EMBED_DIM, rngs=rngs)
        self.pos_emb = nnx.Embed(SEQ_LEN, EMBED_DIM, rngs=rngs)
        self.blocks = nnx.List([TransformerBlock(rngs) for _ in range(NUM_LAYERS)])
        self.layer_norm = nnx.LayerNorm(epsilon=1e-6, num_features=EMBED_DIM, rngs=rngs)
        self.head = nnx.Linear(EMBED_DIM, VOCAB_SIZE, use_bias=False, rngs=rngs)  #! tied

    def __call__(self, tokens):
        x = self.token_emb(tokens)  #@ token_emb/embedding
        x = x + self.pos_emb(jnp.arange(tokens.shape[1]))  #@ pos_emb/add
        for block in self.blocks:
            x = nnx.remat(TransformerBlock.__call__)(block, x)  #? remat
            x = block(x)  #! remat
        x = self.layer_norm(x)  #@ layer_norm/layer_norm
        return self.token_emb.attend(x)  #? tied
        return self.head(x)  #! tied
)",        jax_cross_entropy,      {{"compute_dtype", "f32"}}, flags};
}

}  // namespace shardscope
