#include "engine/ops/cast.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> cast_variants() {
  std::vector<Attributes> variants;
  for (DType to : {DType::f32, DType::bf16, DType::i32}) {
    const CastAttributes made{to};
    [[maybe_unused]] const auto& [own] = made;
    variants.push_back(made);
  }
  return variants;
}

}  // namespace

OpCases cast_cases() {
  OpCases all;
  all.cases = {{"cast", {large::x}, CastAttributes{DType::bf16}, {0}},
               {"cast", {half(large::x.shape)}, CastAttributes{DType::f32}, {0}}};
  all.small_cases = {{"cast", {small::x}, CastAttributes{DType::bf16}},
                     {"cast", {half({4, 8, 16})}, CastAttributes{DType::f32}}};
  // To its own type: the identity.
  all.networks = {{"cast", 0, behind_dense("cast", CastAttributes{DType::f32})}};
  all.attributes = {cast_variants()};
  all.exact = {"cast"};
  return all;
}

}  // namespace shardscope::test
