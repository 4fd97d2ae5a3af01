#include "engine/search/neighbours.h"

#include <algorithm>
#include <utility>

namespace shardscope {

namespace {

bool is_prime(int64_t number) {
  for (int64_t d = 2; d * d <= number; ++d) {
    if (number % d == 0) return false;
  }
  return number > 1;
}

bool is_prime_ratio(int64_t a, int64_t b) {
  const auto [less, more] = std::minmax(a, b);
  return less > 0 && more % less == 0 && is_prime(more / less);
}

enum class DegreeChange : uint8_t { none, one, more };

DegreeChange degree_change(const StrategyConfig& a, const StrategyConfig& b) {
  static constexpr int64_t StrategyConfig::*degrees[] = {&StrategyConfig::pipeline, &StrategyConfig::tensor,
                                                         &StrategyConfig::context,  &StrategyConfig::expert,
                                                         &StrategyConfig::fsdp,     &StrategyConfig::data};
  int64_t from[2] = {}, to[2] = {};
  int changed = 0;
  for (const auto degree : degrees) {
    if (a.*degree == b.*degree) continue;
    if (changed == 2) return DegreeChange::more;
    from[changed] = a.*degree;
    to[changed++] = b.*degree;
  }
  if (changed == 0) return DegreeChange::none;
  if (a.data == b.fsdp && a.fsdp == b.data && std::min(a.data, a.fsdp) == 1) return DegreeChange::one;
  return is_prime_ratio(from[0], to[0]) ? DegreeChange::one : DegreeChange::more;
}

bool has_order(const StrategyConfig& s) { return s.pipeline > 1 && s.data * s.fsdp > 1; }

}  // namespace

bool is_single_change(const Candidate& one, const Candidate& other) {
  const StrategyConfig &a = one.strategy, &b = other.strategy;
  const DegreeChange degrees = degree_change(a, b);
  if (degrees == DegreeChange::more) return false;
  int changes = degrees == DegreeChange::one;
  if (a.microbatch_size != b.microbatch_size) {
    if (changes > 0 || !is_prime_ratio(a.microbatch_size, b.microbatch_size)) return false;
    ++changes;
  }
  changes += a.recompute != b.recompute;
  changes += one.mode != other.mode;
  changes += a.zero != b.zero && has_zero_stages(a) && has_zero_stages(b);
  changes += a.sequence_parallel != b.sequence_parallel && a.tensor > 1 && b.tensor > 1;
  changes += a.order.empty() != b.order.empty() && has_order(a) && has_order(b);
  if (a.pipeline > 1 && b.pipeline > 1) {
    const bool gives_up = a.pipeline != b.pipeline && std::min(a.virtual_stages, b.virtual_stages) == 1;
    changes += a.pipeline_schedule != b.pipeline_schedule || (a.virtual_stages != b.virtual_stages && !gives_up);
  }
  return changes == 1;
}

std::vector<int> neighbours_of(const Candidate& candidate, const std::vector<Candidate>& all) {
  std::vector<int> found;
  for (size_t i = 0; i < all.size(); ++i) {
    if (is_single_change(candidate, all[i])) found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace shardscope
