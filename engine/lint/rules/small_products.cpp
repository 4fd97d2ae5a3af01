#include <fmt/format.h>

#include <algorithm>

#include "engine/lint/rules/local_products.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double least_time_share = 0.1;  // of a step, that such products take

std::vector<Fault> small_products_faults(const LintSubject& subject) {
  const int64_t tile = product_tile(subject.plan.machine);
  double seconds = 0;
  LocalProduct worst;
  for (const LocalProduct& product : local_products(subject.plan)) {
    if (std::min({product.work.m, product.work.n, product.work.k}) >= tile) continue;
    seconds += product.seconds;
    if (product.seconds > worst.seconds) worst = product;
  }
  if (seconds <= least_time_share * subject.step_seconds()) return {};
  Fault fault;
  fault.place = "mesh";
  fault.message =
      fmt::format("products smaller than a tile of {} take {:.0f} % of the step, such as {} x {} x {} of {}", tile,
                  100 * seconds / subject.step_seconds(), worst.work.m, worst.work.n, worst.work.k,
                  subject.plan.graph->ops[static_cast<size_t>(worst.op)].name);
  fault.seconds = seconds;
  fault.fixes = larger_products(subject);
  fault.no_fix = "fewer devices, or a larger batch";
  return {std::move(fault)};
}

}  // namespace

LintRule small_products_rule() {
  return {"small_products", "matrix products smaller than a tile", false, small_products_faults};
}

}  // namespace shardscope
