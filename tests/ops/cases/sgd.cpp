#include "engine/ops/sgd.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

Schedule with(Schedule schedule, void (*change)(Schedule&)) {
  change(schedule);
  return schedule;
}

std::vector<Attributes> schedule_variants() {
  Schedule s(0.01);
  s.kind = Schedule::Kind::linear;
  [[maybe_unused]] const auto& [kind, value, init, warmup, decay, end, alpha, exponent, steps, begin] = s;
  std::vector<Attributes> variants{SgdAttributes{s}};
  for (auto change : std::initializer_list<void (*)(Schedule&)>{
           [](Schedule& o) { o.kind = Schedule::Kind::cosine_decay; }, [](Schedule& o) { o.value = next(o.value); },
           [](Schedule& o) { o.init_value = 1e-300; }, [](Schedule& o) { o.warmup_steps = 1; },
           [](Schedule& o) { o.decay_steps = 1; }, [](Schedule& o) { o.end_value = 1e-300; },
           [](Schedule& o) { o.alpha = 1e-300; }, [](Schedule& o) { o.exponent = next(o.exponent); },
           [](Schedule& o) { o.transition_steps = 1; }, [](Schedule& o) { o.transition_begin = 1; }}) {
    variants.push_back(SgdAttributes{with(s, change)});
  }
  return variants;
}

std::vector<Attributes> sgd_variants() {
  const SgdAttributes a{0.01, 0.9};
  [[maybe_unused]] const auto& [rate, momentum] = a;
  return {a, SgdAttributes{next(rate.value), momentum}, SgdAttributes{rate, next(momentum)}};
}

}  // namespace

OpCases sgd_cases() {
  OpCases all;
  all.cases = {{"sgd", {large::x, large::x, large::x}, SgdAttributes{}}};
  all.small_cases = {{"sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, SgdAttributes{}}};
  all.attributes = {schedule_variants(), sgd_variants()};
  return all;
}

}  // namespace shardscope::test
