#include <cmath>

#include "engine/ops/equation.h"
#include "engine/ops/rotary.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

Layer rotated(bool interleaved) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const ValueId heads =
        append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(hd)->bshd", {{'h', 2}}});
    const ValueId turned = append(graph, "rotary", {heads}, RotaryAttributes{{1.0f}, 1.25f, interleaved, false});
    return append(graph, "rearrange", {turned}, EquationAttributes{"bshd->bs(hd)"});
  };
}

std::vector<Attributes> rotary_variants() {
  const RotaryAttributes made{{1.0f, 0.5f, 0.25f}, 1, false, false};
  [[maybe_unused]] const auto& [frequencies, magnitude, interleaved, backward, order] = made;
  return {made,
          RotaryAttributes{{1.0f, std::nextafter(0.5f, 1.0f), 0.25f}, 1, false, false},
          RotaryAttributes{{1.0f, 0.5f, 0.25f}, std::nextafter(1.0f, 2.0f), false, false},
          RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, true, false},
          RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, false, true},
          RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, false, false, 2}};
}

}  // namespace

OpCases rotary_cases() {
  OpCases all;
  all.cases = {{"rotary", {large::query}, RotaryAttributes{{1.0f, 0.25f, 0.125f}, 1.5f, false, false}, {0}}};
  all.small_cases = {
      {"rotary", {small::query}, RotaryAttributes{{1.0f, 0.3f, 0.1f, 0.03f, 0.01f, 0.003f}, 1, false, false}},
      {"rotary", {small::query}, RotaryAttributes{{1.0f, 0.3f}, 1.25f, false, true}},
      {"rotary", {small::query}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, true, false}},
      {"rotary", {half({4, 8, 4, 12})}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, false, false}},
      {"rotary", {small::query}, RotaryAttributes{{1.0f, 0.3f, 0.1f}, 1, false, false, 2}}};
  all.networks = {{"rotary", 0, rotated(false)}, {"rotary, interleaved", 0, rotated(true)}};
  all.attributes = {rotary_variants()};
  return all;
}

}  // namespace shardscope::test
