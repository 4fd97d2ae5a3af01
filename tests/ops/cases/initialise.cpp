#include "engine/ops/initialise.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> initialise_variants() {
  using Kind = InitialiseAttributes::Kind;
  std::vector<Attributes> variants;
  for (Kind kind : {Kind::constant, Kind::normal, Kind::truncated_normal, Kind::uniform}) {
    for (double scale : {0.02, next(0.02)}) {
      for (Key key : {Key{0, 1}, Key{1, 0}, Key{0, 2}}) {
        for (const TensorType& type : different_types()) {
          const InitialiseAttributes made{kind, scale, key, type};
          [[maybe_unused]] const auto& [own_kind, own_scale, own_key, own_type] = made;
          variants.push_back(made);
        }
      }
    }
  }
  return variants;
}

}  // namespace

OpCases initialise_cases() {
  using Kind = InitialiseAttributes::Kind;
  const InitialiseAttributes normal{Kind::normal, 0.02, {0, 1}, array({12, 24})};
  const InitialiseAttributes sinusoidal{Kind::sinusoidal, 1e4, {}, array({12, 24})};
  OpCases all;
  all.cases = {{"initialise", {}, normal}, {"initialise", {}, sinusoidal}};
  for (Kind kind : {Kind::constant, Kind::normal, Kind::truncated_normal, Kind::uniform}) {
    for (const TensorType& type : {small::x, array({12})}) {
      all.small_cases.push_back({"initialise", {}, InitialiseAttributes{kind, 0.02, key_from_seed(5), type}});
    }
  }
  all.small_cases.push_back({"initialise", {}, InitialiseAttributes{Kind::sinusoidal, 1e4, {}, array({12, 16})}});
  all.networks = {{"sinusoids", 0, [](Graph&, const Linen& m, ValueId x, ValueId) {
                     return m.add_sinusoidal_positions(x, "pos_emb");
                   }}};
  all.attributes = {initialise_variants()};
  all.exact = {"initialise"};
  all.sized_by_attributes = {"initialise"};
  return all;
}

}  // namespace shardscope::test
