#pragma once

#include <compare>
#include <string>
#include <variant>

#include "engine/machine/machine.h"

namespace shardscope {

// Instructions whose prices follow from the same numbers of a machine: matrix products by the rate of their precision,
// other local work by that of its kernel, collectives by the rules for their kind on a level.
struct ProductFamily {
  Precision precision = Precision::f32;
  auto operator<=>(const ProductFamily&) const = default;
};
struct KernelFamily {
  std::string name;  // "gelu"
  auto operator<=>(const KernelFamily&) const = default;
};
struct CollectiveFamily {
  InstructionKind kind = InstructionKind::all_reduce;
  std::string level;  // the outermost in which members of a group differ
  auto operator<=>(const CollectiveFamily&) const = default;
};
using PricedFamily = std::variant<ProductFamily, KernelFamily, CollectiveFamily>;
std::string to_string(const PricedFamily& family);  // "matrix products in f32", "gelu", "all-reduce over host"

// The machine on which work of a family takes `times` as long, latencies aside: products by their peak rate, kernels
// and collectives by their efficiency (at most 1; a kernel with a rate of its own may have a higher rate). `source` is
// noted with what changes.
Machine with_slower(Machine machine, const PricedFamily& family, double times, const std::string& source);

}  // namespace shardscope
