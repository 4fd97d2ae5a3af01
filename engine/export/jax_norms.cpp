#include <fmt/format.h>

#include "engine/export/jax_op.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/scale.h"

namespace shardscope {

namespace {

JaxText layer_norm(const JaxCall& call) {
  return {fmt::format("layer_norm({}, {}, {}, {})", call.operand(0), call.operand(3), call.operand(4),
                      call.attributes<LayerNormAttributes>().epsilon)};
}

JaxText rms_norm(const JaxCall& call) {
  return {fmt::format("rms_norm({}, {}, {})", call.operand(0), call.operand(1),
                      call.attributes<LayerNormAttributes>().epsilon)};
}

JaxText next_token(const JaxCall& call) { return {fmt::format("next_token({})", call.operand(0))}; }

JaxText cross_entropy(const JaxCall& call) {
  const bool weighted = call.op.inputs.size() == 6;
  return {fmt::format("cross_entropy({}, {}{})", call.value(call.producer(1).inputs[0], Binding::none), call.operand(4),
                      weighted ? ", " + call.operand(5) : "")};
}

JaxText squared_error(const JaxCall& call) {
  return {fmt::format("jnp.mean(({} - {}) ** 2)", call.operand(0, Binding::sum), call.operand(1, Binding::product))};
}

}  // namespace

std::vector<JaxOp> norm_jax_ops() {
  return {{"layer_norm_moments"},
          {"layer_norm", layer_norm, R"(
def layer_norm(x, scale, bias, epsilon):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.maximum(jnp.mean(jnp.square(x), axis=-1, keepdims=True) - jnp.square(mean), 0)
    return (x - mean) * (jax.lax.rsqrt(variance + epsilon) * scale) + bias
)"},
          {"rms_norm_squares"},
          {"rms_norm", rms_norm, R"(
def rms_norm(x, scale, epsilon):
    return scale * x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + epsilon)
)"}};
}

std::vector<JaxOp> loss_jax_ops() {
  return {{"next_token",
           next_token,
           R"(
def next_token(tokens):
    """The token behind each, and how much it counts: the last has none."""
    length = tokens.shape[1]
    weights = jnp.full(tokens.shape, length / (length - 1)).at[:, -1].set(0)
    return jnp.roll(tokens, -1, axis=1).at[:, -1].set(0), weights
)",
           nullptr,
           {},
           {"labels", "weights"}},
          {"row_max"},
          {"cross_entropy_terms"},
          {"cross_entropy",
           cross_entropy,
           R"(
def cross_entropy(logits, labels, weights=1):
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return jnp.mean(weights * loss), jnp.mean(weights * (jnp.argmax(logits, axis=-1) == labels))
)",
           nullptr,
           {},
           {"loss", "accuracy"}},
          {"squared_error", squared_error, {}, nullptr, {}, {"loss"}, true}};
}

}  // namespace shardscope
