#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "engine/export/jax_op.h"
#include "engine/ops/attention.h"
#include "engine/ops/rotary.h"

namespace shardscope {

namespace {

std::string floats(const std::vector<float>& values) { return fmt::format("({},)", fmt::join(values, ", ")); }

JaxText attention(const JaxCall& call) {
  const auto& a = call.attributes<AttentionAttributes>();
  std::string text = fmt::format("attention({}, {}, {}", call.operand(0), call.operand(1), call.operand(2));
  const size_t masks = call.op.inputs.size() - 3;
  if (masks == 2) text += ", valid_queries=" + call.operand(3);
  if (masks > 0) text += ", valid_keys=" + call.operand(2 + masks);
  if (a.causal) text += ", causal=True";
  if (a.scale > 0) text += fmt::format(", scale={}", a.scale);
  if (a.window > 0) text += fmt::format(", window={}", a.window);
  if (a.soft_cap > 0) text += fmt::format(", soft_cap={}", a.soft_cap);
  if (!a.slopes.empty()) text += ", slopes=" + floats(a.slopes);
  if (a.dropout.rate > 0) text += fmt::format(", dropout_rate={}, key={}", a.dropout.rate, call.key(a.dropout.key));
  if (call.all_results) text += ", sums=True";
  return {text + ")"};
}

void attention_flags(const Op& op, std::set<std::string_view>& set) {
  const auto& a = op.attributes.as<AttentionAttributes>();
  if (op.inputs.size() > 3) set.insert("valid");
  if (op.inputs.size() > 4) set.insert("valid_queries");
  if (a.causal) set.insert("causal");
  if (a.scale > 0) set.insert("scaled");
  if (a.window > 0) set.insert("window");
  if (a.soft_cap > 0) set.insert("capped");
  if (!a.slopes.empty()) set.insert("slopes");
  if (a.dropout.rate > 0) set.insert("drops");
  if (a.causal || a.window > 0 || !a.slopes.empty()) set.insert("distance");
  if (a.causal || op.inputs.size() > 3) set.insert("masked");
}

JaxText attention_sink(const JaxCall& call) {
  return {fmt::format("attention_sink({}, {}, {})", call.operand(0), call.operand(1), call.operand(2))};
}

void sink_flags(const Op&, std::set<std::string_view>& set) { set.insert("sums"); }

// scale x base^(-2i/d) in words where that is what they are, else the numbers.
std::string frequencies_text(const std::vector<float>& frequencies) {
  const size_t count = frequencies.size();
  const double scale = frequencies[0], pairs = static_cast<double>(count);
  const double base = count < 2 ? 0 : std::round(std::pow(frequencies[1] / scale, -pairs));
  for (size_t i = 0; i < count; ++i) {
    const double power = scale * std::pow(base, -static_cast<double>(i) / pairs);
    if (base < 2 || std::abs(frequencies[i] - power) > 2e-7 * power) return floats(frequencies);
  }
  return fmt::format("{}{} ** -(numpy.arange({}) / {})", scale == 1 ? "" : fmt::format("{} * ", scale), base, count,
                     count);
}

JaxText rotary(const JaxCall& call) {
  const auto& a = call.attributes<RotaryAttributes>();
  if (a.blocks > 1) throw Failure(not_exportable("tokens in zig-zag order are not written in JAX", "model"));
  return {fmt::format("rotary({}, {}{}{})", call.operand(0), frequencies_text(a.frequencies),
                      a.magnitude == 1 ? "" : fmt::format(", magnitude={}", a.magnitude),
                      a.interleaved ? ", interleaved=True" : "")};
}

void rotary_flags(const Op& op, std::set<std::string_view>& set) {
  if (op.attributes.as<RotaryAttributes>().interleaved) set.insert("interleaved");
}

}  // namespace

std::vector<JaxOp> attention_jax_ops() {
  return {{"attention",
           attention,
           R"(
def attention(
    query,
    key_heads,
    value,
    valid_queries=None,  #? valid_queries
    valid_keys=None,  #? valid
    causal=False,  #? causal
    scale=None,  #? scaled
    window=None,  #? window
    soft_cap=None,  #? capped
    slopes=None,  #? slopes
    dropout_rate=0,  #? drops
    key=None,  #? drops
    sums=False,  #? sums
):
    """Softmax attention of (batch, position, head, size); query heads that follow each other share a key head."""
    group = query.shape[2] // key_heads.shape[2]
    key_heads, value = jnp.repeat(key_heads, group, axis=2), jnp.repeat(value, group, axis=2)
    scale = query.shape[-1] ** -0.5 if scale is None else scale  #? scaled
    scale = query.shape[-1] ** -0.5  #! scaled
    scores = jnp.einsum("bqhd,bkhd->bhqk", query * scale, key_heads)
    if soft_cap:  #? capped
        scores = soft_cap * jnp.tanh(scores / soft_cap)  #? capped
    distance = jnp.arange(scores.shape[3]) - jnp.arange(scores.shape[2])[:, None]  #? distance
    if slopes:  #? slopes
        scores += jnp.array(slopes)[:, None, None] * distance  #? slopes
    seen = jnp.ones(scores.shape, bool)  #? masked
    if causal:  #? causal
        seen &= distance <= 0  #? causal
    if window:  #? window
        seen &= distance > -window  #? window
    if valid_keys is not None:  #? valid
        seen &= (valid_keys > 0)[:, None, None, :]  #? valid
    if valid_queries is not None:  #? valid_queries
        seen &= (valid_queries > 0)[:, None, :, None]  #? valid_queries
    scores = jnp.where(seen, scores, jnp.finfo(scores.dtype).min)  #? masked
    weights = jax.nn.softmax(scores, axis=-1)
    if dropout_rate:  #? drops
        weights = dropout(weights, dropout_rate, key)  #? drops
    context = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    if sums:  #? sums
        return context, jax.nn.logsumexp(scores, axis=-1)  #? sums
    return context
)",
           attention_flags,
           {"query", "key", "value"},
           {"context", "sums"},
           false,
           true},
          {"attention_sink", attention_sink, R"(
def attention_sink(context, sums, sinks):
    """Each head has one more score, of a key whose value is zero."""
    share = jax.nn.sigmoid(sums - sinks[:, None])
    return context * share.transpose(0, 2, 1)[..., None]
)",
           sink_flags},
          {"rotary", rotary, R"(
def rotary(x, frequencies, magnitude=1, interleaved=False):  #? interleaved
def rotary(x, frequencies, magnitude=1):  #! interleaved
    """Turns pairs of elements by angles that grow with the position, in the first elements of a head."""
    angles = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * numpy.float32(frequencies)
    cos, sin = magnitude * jnp.cos(angles)[:, None], magnitude * jnp.sin(angles)[:, None]
    pairs = angles.shape[1]
    turned, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if interleaved:  #? interleaved
        a, b = turned[..., 0::2], turned[..., 1::2]  #? interleaved
        turned = jnp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(turned.shape)  #? interleaved
        return jnp.concatenate([turned, rest], axis=-1)  #? interleaved
    a, b = turned[..., :pairs], turned[..., pairs:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos, rest], axis=-1)
)",
           rotary_flags}};
}

}  // namespace shardscope
