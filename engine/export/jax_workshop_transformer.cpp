#include "engine/export/jax_model.h"

namespace shardscope {

namespace {

std::vector<std::string_view> layer_flags(const OptionList& options) {
  std::vector<std::string_view> set;
  if (integer_option(options, "ffn_hidden_size") > 0) set.push_back("ffn");
  if (integer_option(options, "num_layers") > 1) set.push_back("layers");
  if (string_option(options, "qkv_layout") == "flat") set.push_back("flat");
  if (bool_option(options, "norms")) set.push_back("norms");
  if (bool_option(options, "residuals")) set.push_back("residuals");
  return set;
}

}  // namespace

// WorkshopLayer of bench/golden/nnx_systems.py; the elements of its fused kernel by heads.
JaxModel jax_workshop_transformer() {
  return {"workshop_transformer",
          JaxModel::Library::nnx,
          R"(
WorkshopTransformer(nnx.Rngs(SEED))  #? layers
WorkshopTransformer(nnx.Rngs(SEED))  #! layers  #? remat
TransformerLayer(nnx.Rngs(SEED))  #! layers  #! remat
)",
          R"(
class Linear(nnx.Module):
    def __init__(self, rngs, n, *m):
        kernel = nnx.initializers.lecun_normal()(rngs.params(), (n, math.prod(m)))
        self.weight = nnx.Param(kernel.reshape(n, *m))
        self.bias = nnx.Param(jnp.zeros(m))


class TransformerLayer(nnx.Module):
    def __init__(self, rngs):
        self.qkv_proj = Linear(rngs, HIDDEN_SIZE, 3, NUM_HEADS, HIDDEN_SIZE // NUM_HEADS)  #! flat
        self.qkv_proj = Linear(rngs, HIDDEN_SIZE, 3 * HIDDEN_SIZE)  #? flat
        self.output_proj = Linear(rngs, HIDDEN_SIZE, HIDDEN_SIZE)
        self.ffn_layer1 = Linear(rngs, HIDDEN_SIZE, FFN_HIDDEN_SIZE)  #? ffn
        self.ffn_layer2 = Linear(rngs, FFN_HIDDEN_SIZE, HIDDEN_SIZE)  #? ffn
        self.ln1 = nnx.LayerNorm(HIDDEN_SIZE, rngs=rngs)  #? norms
        self.ln2 = nnx.LayerNorm(HIDDEN_SIZE, rngs=rngs)  #? ffn  #? norms

    def __call__(self, x):
        y = self.ln1(x)  #? norms  #@ **/ln1/layer_norm
        y = x  #! norms
        y = jnp.einsum("bse,ethd->bsthd", y, self.qkv_proj.weight[...])  #! flat  #@ **/qkv_proj/einsum
        y = y @ self.qkv_proj.weight[...]  #? flat  #@ **/qkv_proj/einsum
        y = y + self.qkv_proj.bias[...]  #@ **/qkv_proj/add
        y = y.reshape(*x.shape[:2], 3, NUM_HEADS, HIDDEN_SIZE // NUM_HEADS)  #? flat  #@ **/qkv_proj/rearrange
        q, k, v = y[:, :, 0], y[:, :, 1], y[:, :, 2]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        y = jnp.einsum("bhqk,bkhd->bqhd", nnx.softmax(scores, axis=-1), v)  #@ **/attention
        y = y.reshape(x.shape)  #@ **/context
        y = y @ self.output_proj.weight[...]  #@ **/output_proj/einsum
        y = y + self.output_proj.bias[...]  #@ **/output_proj/add
        x = x + y  #? residuals  #@ **/residual
        x = y  #! residuals
        y = self.ln2(x)  #? ffn  #? norms  #@ **/ln2/layer_norm
        y = x  #? ffn  #! norms
        y = y @ self.ffn_layer1.weight[...]  #? ffn  #@ **/ffn_layer1/einsum
        y = y + self.ffn_layer1.bias[...]  #? ffn  #@ **/ffn_layer1/add
        y = nnx.gelu(y)  #? ffn  #@ **/gelu
        y = y @ self.ffn_layer2.weight[...]  #? ffn  #@ **/ffn_layer2/einsum
        y = y + self.ffn_layer2.bias[...]  #? ffn  #@ **/ffn_layer2/add
        x = x + y  #? ffn  #? residuals  #@ **/residual_1
        x = y  #? ffn  #! residuals
        return x


class WorkshopTransformer(nnx.Module):  #? layers
    def __init__(self, rngs):  #? layers
        self.layers = nnx.List([TransformerLayer(rngs) for _ in range(NUM_LAYERS)])  #? layers

    def __call__(self, x):  #? layers
        for layer in self.layers:  #? layers
            x = nnx.remat(TransformerLayer.__call__)(layer, x)  #? layers  #? remat
            x = layer(x)  #? layers  #! remat
        return x  #? layers


class WorkshopTransformer(TransformerLayer):  #! layers  #? remat
    def __call__(self, x):  #! layers  #? remat
        return nnx.remat(TransformerLayer.__call__)(self, x)  #! layers  #? remat
)",
          jax_squared_error,
          {{"compute_dtype", "f32"}},
          layer_flags};
}

}  // namespace shardscope
