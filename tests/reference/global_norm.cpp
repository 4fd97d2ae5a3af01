#include "engine/ops/global_norm.h"

#include <cmath>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results sum_of_squares(const Call& call) { return {Values::Constant(1, call.values(0).square().sum())}; }

Results global_norm(const Call& call) {
  double sum = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) sum += call.values(i)[0];
  return {Values::Constant(1, std::sqrt(sum))};
}

Results clip_by_global_norm(const Call& call) {
  const double norm = call.values(1)[0], largest = call.attributes.as<ClipAttributes>().max_norm;
  return {norm < largest ? call.values(0) : Values(call.values(0) / norm * largest)};
}

}  // namespace

std::vector<NamedReference> global_norm_references() {
  return {
      {"sum_of_squares", sum_of_squares}, {"global_norm", global_norm}, {"clip_by_global_norm", clip_by_global_norm}};
}

}  // namespace shardscope::reference
