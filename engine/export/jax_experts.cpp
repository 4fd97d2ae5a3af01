#include <fmt/format.h>

#include "engine/export/jax_op.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/top_k.h"

namespace shardscope {

namespace {

JaxText expert_linear(const JaxCall& call) {
  return {fmt::format("expert_linear({}, {}, {}{})", call.operand(0), call.operand(1), call.operand(2),
                      call.attributes<ExpertLinearAttributes>().transposed ? ", transposed=True" : "")};
}

JaxText expert_load(const JaxCall& call) {
  return {fmt::format("jax.nn.one_hot({}, {}).sum((0, 1, 2))", call.operand(0),
                      call.attributes<ExpertLoadAttributes>().experts)};
}

JaxText expert_probability(const JaxCall& call) {
  return {fmt::format("jax.nn.softmax({}, axis=-1).sum((0, 1))", call.operand(0))};
}

JaxText weighted_sum(const JaxCall& call) {
  return {fmt::format("jnp.einsum(\"bskd,bsk->bsd\", {}, {})", call.operand(0), call.operand(1))};
}

JaxText top_k(const JaxCall& call) {
  const auto& a = call.attributes<TopKAttributes>();
  std::string text = fmt::format("top_k({}, {}", call.operand(0), a.k);
  if (call.op.inputs.size() > 1) text += ", bias=" + call.operand(1);
  if (a.score == TopKAttributes::Score::sigmoid) text += ", score=jax.nn.sigmoid";
  if (a.normalise) text += ", normalise=True";
  if (a.scale != 1) text += fmt::format(", scale={}", a.scale);
  if (a.groups > 1) text += fmt::format(", groups={}, chosen_groups={}", a.groups, a.chosen_groups);
  return {text + ")"};
}

void top_k_flags(const Op& op, std::set<std::string_view>& set) {
  if (op.inputs.size() > 1) set.insert("bias");
  if (op.attributes.as<TopKAttributes>().groups > 1) set.insert("groups");
}

}  // namespace

std::vector<JaxOp> expert_jax_ops() {
  return {{"expert_linear", expert_linear, R"(
def expert_linear(x, choices, kernels, transposed=False):
    """x (b, s, in) or, of each choice, (b, s, k, in) by the kernels (experts, out, in) that choices (b, s, k) name."""
    x = x if x.ndim == 4 else jnp.broadcast_to(x[:, :, None], (*choices.shape, x.shape[-1]))
    chosen = jax.nn.one_hot(choices, len(kernels))
    equation = "bski,bske,eio->bsko" if transposed else "bski,bske,eoi->bsko"
    return jnp.einsum(equation, x, chosen, kernels)
)"},
          {"expert_load", expert_load},
          {"expert_probability", expert_probability},
          {"weighted_sum", weighted_sum, {}, nullptr, {}, {}, true},
          {"top_k",
           top_k,
           R"(
def top_k(
    logits,
    k,
    bias=0,  #? bias
    score=jax.nn.softmax,
    normalise=False,
    scale=1,
    groups=1,  #? groups
    chosen_groups=1,  #? groups
):
    """The experts (b, s, k) whose scores are largest, and the weights of these."""
    scores = score(logits)
    compared = scores + bias  #? bias
    compared = scores  #! bias
    if groups > 1:  #? groups
        parts = compared.reshape(*compared.shape[:-1], groups, -1)  #? groups
        sums = jax.lax.top_k(parts, min(2, parts.shape[-1]))[0].sum(-1)  #? groups
        chosen = jax.nn.one_hot(jax.lax.top_k(sums, chosen_groups)[1], groups).sum(-2) > 0  #? groups
        compared = jnp.where(chosen[..., None], parts, -jnp.inf).reshape(compared.shape)  #? groups
    choices = jax.lax.top_k(compared, k)[1]
    weights = jnp.take_along_axis(scores, choices, axis=-1)
    if normalise:
        weights /= weights.sum(-1, keepdims=True)
    return choices, scale * weights
)",
           top_k_flags,
           {},
           {"choices", "weights"}}};
}

}  // namespace shardscope
