#include "engine/export/jax_op.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace shardscope {

const JaxOp* find_jax_op(std::string_view name) {
  static const std::map<std::string_view, JaxOp> ops = [] {
    std::map<std::string_view, JaxOp> all;
    for (const std::vector<JaxOp>& family : jax_op_families()) {
      for (const JaxOp& op : family) all.emplace(op.name, op);
    }
    return all;
  }();
  const auto found = ops.find(name);
  return found == ops.end() ? nullptr : &found->second;
}

Error not_exportable(const std::string& message, const std::string& place, const std::string& hint) {
  return {"not_exportable", message, place,
          (hint.empty() ? "" : hint + "; ") + "page 'specs' has where all arrays lie, of any run"};
}

std::string python_tuple(std::span<const int64_t> sizes, bool any_first) {
  std::vector<int64_t> shown(sizes.begin(), sizes.end());
  if (any_first && !shown.empty()) shown[0] = -1;
  return fmt::format("({}{})", fmt::join(shown, ", "), shown.size() == 1 ? "," : "");
}

std::string python_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32: return "jnp.float32";
    case DType::bf16: return "jnp.bfloat16";
    case DType::f16: return "jnp.float16";
    case DType::f8: return "jnp.float8_e4m3fn";
    case DType::i32: break;
  }
  return "jnp.int32";
}

}  // namespace shardscope
