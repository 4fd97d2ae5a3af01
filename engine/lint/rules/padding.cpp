#include <fmt/format.h>

#include <algorithm>

#include "engine/lint/rules/local_products.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double most_padding = 0.1;

// The share of a product's work that whole tiles do beyond it.
double padding_of(const ProductWork& work, int64_t tile) {
  const auto filled = [&](int64_t size) { return double(size) / double((size + tile - 1) / tile * tile); };
  return 1 - filled(work.m) * filled(work.n) * filled(work.k);
}

std::vector<Fault> padding_faults(const LintSubject& subject) {
  const int64_t tile = product_tile(subject.plan.machine);
  double padded = 0, all = 0, worst_seconds = 0;
  LocalProduct worst;
  for (const LocalProduct& product : local_products(subject.plan)) {
    all += product.seconds;
    if (std::min({product.work.m, product.work.n, product.work.k}) < tile) continue;  // small_products
    const double seconds = padding_of(product.work, tile) * product.seconds;
    padded += seconds;
    if (seconds > worst_seconds) worst = product, worst_seconds = seconds;
  }
  if (padded <= most_padding * all) return {};
  Fault fault;
  fault.place = "mesh";
  fault.message = fmt::format("tiles of {} pad {:.0f} % of the matrix products, such as {} x {} x {} of {}", tile,
                              100 * padded / all, worst.work.m, worst.work.n, worst.work.k,
                              subject.plan.graph->ops[static_cast<size_t>(worst.op)].name);
  fault.seconds = padded;
  fault.fixes = larger_products(subject);
  fault.no_fix = fmt::format("sizes of which each device has a multiple of {}", tile);
  return {std::move(fault)};
}

}  // namespace

LintRule padding_rule() { return {"padding", "matrix products that tiles do not divide", false, padding_faults}; }

}  // namespace shardscope
