#include <fmt/format.h>

#include "engine/export/jax_op.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/grouped_linear.h"

namespace shardscope {

namespace {

std::string sizes_text(const JaxCall& call) {
  const auto& a = call.attributes<DispatchAttributes>();
  return python_tuple(std::vector<int64_t>{a.experts, a.expert_blocks, a.batch_blocks, a.length_blocks, a.rows});
}

JaxText expert_counts(const JaxCall& call) {
  return {fmt::format("expert_counts({}, {})", call.operand(0), sizes_text(call))};
}

JaxText dispatch(const JaxCall& call) {
  return {fmt::format("dispatch({}, {}, {})", call.operand(0), call.operand(1), sizes_text(call))};
}

JaxText combine(const JaxCall& call) {
  return {fmt::format("combine({}, {}, {}){}", call.operand(0), call.operand(1), sizes_text(call),
                      call.attributes<DispatchAttributes>().summed ? ".sum(2)" : "")};
}

JaxText grouped_linear(const JaxCall& call) {
  return {fmt::format("grouped_linear({}, {}, {}{})", call.operand(0), call.operand(1), call.operand(2),
                      call.attributes<GroupedLinearAttributes>().transposed ? ", transposed=True" : "")};
}

}  // namespace

std::vector<JaxOp> dispatch_jax_ops() {
  return {{"expert_counts",
           expert_counts,
           R"py(
def by_blocks(x, sizes):
    """(batch, length, choice, ...) -> (block of tokens, choice of a token, ...)"""
    _, _, g, h, _ = sizes
    b, s, k, *rest = x.shape
    x = jnp.moveaxis(x.reshape(g, b // g, h, s // h, k, *rest), 2, 0)
    return x.reshape(g * h, -1, *rest)


def slots(choices, sizes):
    """Of each choice the block of experts, its row there and whether it has room; and how many rows each expert has."""
    experts, expert_blocks, _, _, rows = sizes
    choices = by_blocks(choices, sizes)
    chosen = jax.nn.one_hot(choices, experts, dtype=jnp.int32)
    sent = chosen.reshape(*choices.shape, expert_blocks, -1).sum(-1)
    kept = (sent * jnp.cumsum(sent, axis=1)).sum(-1) <= rows
    chosen *= kept[..., None]
    counts = chosen.sum(1).reshape(len(choices), expert_blocks, -1)
    first = (jnp.cumsum(counts, axis=-1) - counts).reshape(len(choices), 1, experts)
    row = (chosen * (first + jnp.cumsum(chosen, axis=1) - 1)).sum(-1)
    return choices // (experts // expert_blocks), row, kept, counts


def expert_counts(choices, sizes):
    counts = slots(choices, sizes)[3]
    return counts, (choices.size - counts.sum()).astype(jnp.float32)


def dispatch(x, choices, sizes):
    """The rows (blocks of tokens, blocks of experts, rows, features) that go to each block of experts."""
    block, row, kept, counts = slots(choices, sizes)
    x = x if x.ndim == 4 else jnp.broadcast_to(x[:, :, None], (*choices.shape, x.shape[-1]))
    rows = jnp.zeros((*counts.shape[:2], sizes[-1], x.shape[-1]), x.dtype)
    row = jnp.where(kept, row, sizes[-1])
    return rows.at[jnp.arange(len(row))[:, None], block, row].set(by_blocks(x, sizes), mode="drop")


def combine(rows, choices, sizes):
    """Each choice's row; zeros where it had no room."""
    block, row, kept, _ = slots(choices, sizes)
    x = jnp.where(kept[..., None], rows[jnp.arange(len(row))[:, None], block, row], 0)
    _, _, g, h, _ = sizes
    b, s, k = choices.shape
    return jnp.moveaxis(x.reshape(h, g, b // g, s // h, k, -1), 0, 2).reshape(b, s, k, -1)
)py",
           nullptr,
           {},
           {"counts", "dropped"}},
          {"dispatch", dispatch},
          {"combine", combine},
          {"grouped_linear", grouped_linear, R"(
def grouped_linear(rows, counts, kernels, transposed=False):
    """Rows (q, p, c, in), so many of each expert, by the kernels (experts, out, in) of their experts."""
    expert = (jnp.arange(rows.shape[2])[:, None] >= jnp.cumsum(counts, axis=-1)[:, :, None]).sum(-1)
    chosen = jax.nn.one_hot(expert, counts.shape[2])
    kernels = kernels.reshape(*counts.shape[1:], *kernels.shape[1:])
    equation = "qpci,qpcn,pnio->qpco" if transposed else "qpci,qpcn,pnoi->qpco"
    return jnp.einsum(equation, rows, chosen, kernels)
)"}};
}

}  // namespace shardscope
