#include <QTest>
#include <cmath>
#include <limits>

#include "engine/ops/adam.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/clip.h"
#include "engine/ops/constant.h"
#include "engine/ops/conv.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/dropout.h"
#include "engine/ops/embedding.h"
#include "engine/ops/equation.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/global_norm.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/initialise.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/lion.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/ops/ring_attention.h"
#include "engine/ops/rotary.h"
#include "engine/ops/scale.h"
#include "engine/ops/sgd.h"
#include "engine/ops/soft_cap.h"
#include "engine/ops/split.h"
#include "engine/ops/stack.h"
#include "engine/ops/top_k.h"
#include "engine/ops/zigzag.h"
#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace attributes_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The next number, which a text of few digits would not tell from this one.
double next(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

// One value of every attribute type, and for each of its fields one that differs in that field alone. The number of
// fields is checked by taking a value apart: a new field does not compile here until it has a variant.
struct Family {
  const char* name;
  std::vector<Attributes> variants;
};

Family adam() {
  const AdamAttributes a{};
  [[maybe_unused]] const auto& [rate, b1, b2, eps, decay] = a;
  return {"adam",
          {a, AdamAttributes{next(rate.value), b1, b2, eps}, AdamAttributes{rate, next(b1), b2, eps},
           AdamAttributes{rate, b1, next(b2), eps}, AdamAttributes{rate, b1, b2, next(eps)},
           AdamAttributes{rate, b1, b2, eps, decay + 1e-4}}};
}

Schedule with(Schedule schedule, void (*change)(Schedule&)) {
  change(schedule);
  return schedule;
}

Family schedules() {
  Schedule s(0.01);
  s.kind = Schedule::Kind::linear;
  [[maybe_unused]] const auto& [kind, value, init, warmup, decay, end, alpha, exponent, steps, begin] = s;
  Family family{"schedule", {SgdAttributes{s}}};
  for (auto change : std::initializer_list<void (*)(Schedule&)>{
           [](Schedule& o) { o.kind = Schedule::Kind::cosine_decay; }, [](Schedule& o) { o.value = next(o.value); },
           [](Schedule& o) { o.init_value = 1e-300; }, [](Schedule& o) { o.warmup_steps = 1; },
           [](Schedule& o) { o.decay_steps = 1; }, [](Schedule& o) { o.end_value = 1e-300; },
           [](Schedule& o) { o.alpha = 1e-300; }, [](Schedule& o) { o.exponent = next(o.exponent); },
           [](Schedule& o) { o.transition_steps = 1; }, [](Schedule& o) { o.transition_begin = 1; }}) {
    family.variants.push_back(SgdAttributes{with(s, change)});
  }
  return family;
}

Family clip() {
  const ClipAttributes a{};
  [[maybe_unused]] const auto& [norm] = a;
  return {"clip", {a, ClipAttributes{next(norm)}}};
}

Family sgd() {
  const SgdAttributes a{0.01, 0.9};
  [[maybe_unused]] const auto& [rate, momentum] = a;
  return {"sgd", {a, SgdAttributes{next(rate.value), momentum}, SgdAttributes{rate, next(momentum)}}};
}

Family momentum_sgd() {
  const MomentumSgdAttributes a{0.01, 0.9, false};
  [[maybe_unused]] const auto& [rate, momentum, nesterov] = a;
  return {"momentum_sgd",
          {a, MomentumSgdAttributes{next(rate.value), momentum, nesterov},
           MomentumSgdAttributes{rate, next(momentum), nesterov}, MomentumSgdAttributes{rate, momentum, true}}};
}

Family lion() {
  const LionAttributes a{};
  [[maybe_unused]] const auto& [rate, b1, b2, decay] = a;
  return {"lion",
          {a, LionAttributes{next(rate.value), b1, b2, decay}, LionAttributes{rate, next(b1), b2, decay},
           LionAttributes{rate, b1, next(b2), decay}, LionAttributes{rate, b1, b2, next(decay)}}};
}

std::vector<StepKey> step_keys() {
  const StepKey key{{3, 4}, 2, 1, 7};
  [[maybe_unused]] const auto& [root, stride, offset, fold] = key;
  return {key,
          {{5, 4}, stride, offset, fold},
          {{3, 5}, stride, offset, fold},
          {{4, 3}, stride, offset, fold},
          {root, 3, offset, fold},
          {root, stride, 2, fold},
          {root, stride, offset, 8},
          {root, stride, offset, 0},
          {root, stride, offset, std::nullopt}};
}

std::vector<DropoutAttributes> dropouts() {
  std::vector<DropoutAttributes> all{{}};
  for (double rate : {0.0, 0.5, next(0.5)}) {
    [[maybe_unused]] const auto& [own_rate, own_key] = all[0];
    for (const StepKey& key : step_keys()) all.push_back({rate, key});
  }
  return all;
}

Family dropout() {
  Family family{"dropout", {}};
  for (const DropoutAttributes& one : dropouts()) family.variants.push_back(one);
  return family;
}

Family attention() {
  Family family{"attention", {}};
  for (const DropoutAttributes& one : dropouts()) {
    for (bool causal : {false, true}) {
      const AttentionAttributes made{causal, one};
      [[maybe_unused]] const auto& [own_causal, own_dropout, scale, window, cap, slopes] = made;
      family.variants.push_back(made);
    }
  }
  const AttentionAttributes made{true, dropouts()[0], 0.1, 4, 50, {0.5f, 0.25f}};
  family.variants.push_back(made);
  for (auto change : std::initializer_list<void (*)(AttentionAttributes&)>{
           [](AttentionAttributes& a) { a.scale = next(a.scale); }, [](AttentionAttributes& a) { a.window = 5; },
           [](AttentionAttributes& a) { a.soft_cap = next(a.soft_cap); },
           [](AttentionAttributes& a) { a.slopes[1] = std::nextafter(0.25f, 1.0f); }}) {
    AttentionAttributes changed = made;
    change(changed);
    family.variants.push_back(changed);
  }
  return family;
}

Family soft_cap() {
  const SoftCapAttributes made{30};
  [[maybe_unused]] const auto& [cap] = made;
  return {"soft_cap", {made, SoftCapAttributes{next(30)}}};
}

Family clip_bounds() {
  const ClipBoundsAttributes made{-1, 1};
  [[maybe_unused]] const auto& [low, high] = made;
  return {"clip_bounds", {made, ClipBoundsAttributes{next(-1), 1}, ClipBoundsAttributes{-1, next(1)}}};
}

Family split() {
  const SplitAttributes made{1, {2, 3}};
  [[maybe_unused]] const auto& [dimension, sizes] = made;
  return {"split", {made, SplitAttributes{0, {2, 3}}, SplitAttributes{1, {3, 2}}, SplitAttributes{1, {2, 3, 1}}}};
}

Family top_k() {
  using Score = TopKAttributes::Score;
  const TopKAttributes made{Score::softmax, 2, false, 1, 1, 1};
  [[maybe_unused]] const auto& [score, k, normalise, scale, groups, chosen] = made;
  return {"top_k",
          {made, TopKAttributes{Score::sigmoid, 2, false, 1, 1, 1}, TopKAttributes{Score::softmax, 3, false, 1, 1, 1},
           TopKAttributes{Score::softmax, 2, true, 1, 1, 1}, TopKAttributes{Score::softmax, 2, false, next(1), 1, 1},
           TopKAttributes{Score::softmax, 2, false, 1, 2, 1}, TopKAttributes{Score::softmax, 2, false, 1, 2, 2}}};
}

Family expert_linear() {
  const ExpertLinearAttributes made{4, false};
  [[maybe_unused]] const auto& [experts, transposed] = made;
  return {"expert_linear", {made, ExpertLinearAttributes{5, false}, ExpertLinearAttributes{4, true}}};
}

Family expert_load() {
  const ExpertLoadAttributes made{8};
  [[maybe_unused]] const auto& [experts] = made;
  return {"expert_load", {made, ExpertLoadAttributes{9}}};
}

Family dispatch() {
  const DispatchAttributes made{8, 2, 2, 2, 6, false};
  [[maybe_unused]] const auto& [experts, expert_blocks, batch_blocks, length_blocks, rows, summed] = made;
  return {"dispatch",
          {made, DispatchAttributes{4, 2, 2, 2, 6, false}, DispatchAttributes{8, 4, 2, 2, 6, false},
           DispatchAttributes{8, 2, 4, 2, 6, false}, DispatchAttributes{8, 2, 2, 1, 6, false},
           DispatchAttributes{8, 2, 2, 2, 5, false}, DispatchAttributes{8, 2, 2, 2, 6, true}}};
}

Family ring_attention() {
  const AttentionAttributes causal{true, {}};
  const RingAttributes made{causal, 2, 8, 0};
  [[maybe_unused]] const auto& [attention, blocks, length, step] = made;
  return {"ring_attention",
          {made, RingAttributes{{}, 2, 8, 0}, RingAttributes{causal, 4, 8, 0}, RingAttributes{causal, 2, 16, 0},
           RingAttributes{causal, 2, 8, 1}}};
}

Family roll() {
  const RollAttributes made{2, 1};
  [[maybe_unused]] const auto& [blocks, shift] = made;
  return {"roll", {made, RollAttributes{4, 1}, RollAttributes{2, -1}}};
}

Family zigzag() {
  const ZigzagAttributes made{2, 1, false};
  [[maybe_unused]] const auto& [blocks, dimension, back] = made;
  return {"zigzag", {made, ZigzagAttributes{4, 1, false}, ZigzagAttributes{2, 0, false}, ZigzagAttributes{2, 1, true}}};
}

Family grouped_linear() {
  const GroupedLinearAttributes made{false, 0.5};
  [[maybe_unused]] const auto& [transposed, filled] = made;
  return {"grouped_linear", {made, GroupedLinearAttributes{true, 0.5}, GroupedLinearAttributes{false, 0.25}}};
}

Family rotary() {
  const RotaryAttributes made{{1.0f, 0.5f, 0.25f}, 1, false, false};
  [[maybe_unused]] const auto& [frequencies, magnitude, interleaved, backward, order] = made;
  return {"rotary",
          {made, RotaryAttributes{{1.0f, std::nextafter(0.5f, 1.0f), 0.25f}, 1, false, false},
           RotaryAttributes{{1.0f, 0.5f, 0.25f}, std::nextafter(1.0f, 2.0f), false, false},
           RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, true, false}, RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, false, true},
           RotaryAttributes{{1.0f, 0.5f, 0.25f}, 1, false, false, 2}}};
}

Family cast() {
  Family family{"cast", {}};
  for (DType to : {DType::f32, DType::bf16, DType::i32}) {
    const CastAttributes made{to};
    [[maybe_unused]] const auto& [own] = made;
    family.variants.push_back(made);
  }
  return family;
}

const std::vector<TensorType> types{{{}, DType::f32},     {{2}, DType::f32},      {{2, 3}, DType::f32},
                                    {{3, 2}, DType::f32}, {{23}, DType::f32},     {{2, 3}, DType::bf16},
                                    {{2, 3}, DType::i32}, {{2, 3, 1}, DType::f32}};

Family constant() {
  Family family{"constant", {}};
  for (double value : {0.0, 0.1, next(0.1), -0.1, 1e300}) {
    for (const TensorType& type : types) {
      const ConstantAttributes made{value, type};
      [[maybe_unused]] const auto& [own_value, own_type] = made;
      family.variants.push_back(made);
    }
  }
  return family;
}

Family initialise() {
  using Kind = InitialiseAttributes::Kind;
  Family family{"initialise", {}};
  for (Kind kind : {Kind::constant, Kind::normal, Kind::truncated_normal, Kind::uniform}) {
    for (double scale : {0.02, next(0.02)}) {
      for (Key key : {Key{0, 1}, Key{1, 0}, Key{0, 2}}) {
        for (const TensorType& type : types) {
          const InitialiseAttributes made{kind, scale, key, type};
          [[maybe_unused]] const auto& [own_kind, own_scale, own_key, own_type] = made;
          family.variants.push_back(made);
        }
      }
    }
  }
  return family;
}

Family embedding_grad() {
  const EmbeddingGradAttributes a{7};
  [[maybe_unused]] const auto& [vocabulary] = a;
  return {"embedding_grad", {a, EmbeddingGradAttributes{8}}};
}

Family layer_norm() {
  const LayerNormAttributes a{1e-6, 16};
  [[maybe_unused]] const auto& [epsilon, features] = a;
  return {"layer_norm", {a, LayerNormAttributes{next(epsilon), features}, LayerNormAttributes{epsilon, 17}}};
}

Family scale() {
  const ScaleAttributes a{0.1};
  [[maybe_unused]] const auto& [factor] = a;
  return {"scale", {a, ScaleAttributes{next(factor)}, ScaleAttributes{-factor}}};
}

Family equations() {
  const EquationAttributes a{"bs(hd)->bshd", {{'h', 8}}};
  [[maybe_unused]] const auto& [equation, sizes, wide] = a;
  return {"equation",
          {a, EquationAttributes{equation, {{'h', 4}}}, EquationAttributes{equation, {{'d', 8}}},
           EquationAttributes{equation, {}}, EquationAttributes{equation, sizes, true},
           EquationAttributes{equation, {{'h', 8}, {'d', 4}}}, EquationAttributes{"bs(dh)->bshd", sizes},
           EquationAttributes{"bs(hd)->bsdh", sizes}, EquationAttributes{"bs,(hd)->bshd", sizes},
           EquationAttributes{"bs(hd),->bshd", sizes}}};
}

Family conv() {
  const ConvDimension d{8, 3, 2, 4, 1};
  [[maybe_unused]] const auto& [input, window, stride, output, before] = d;
  const ConvAttributes a{d, d};
  [[maybe_unused]] const auto& [height, width] = a;
  Family family{"conv", {a}};
  for (const ConvDimension& other :
       {ConvDimension{9, 3, 2, 4, 1}, {8, 4, 2, 4, 1}, {8, 3, 3, 4, 1}, {8, 3, 2, 5, 1}, {8, 3, 2, 4, 0}}) {
    family.variants.push_back(ConvAttributes{other, d});
    family.variants.push_back(ConvAttributes{d, other});
  }
  return family;
}

Family stack() {
  const StackAttributes a{1, 3};
  [[maybe_unused]] const auto& [dimension, count] = a;
  return {"stack", {a, StackAttributes{2, count}, StackAttributes{dimension, 4}}};
}

std::vector<Family> families() {
  return {adam(),      sgd(),           momentum_sgd(), lion(),           schedules(),      clip(),       dropout(),
          attention(), cast(),          constant(),     initialise(),     embedding_grad(), layer_norm(), scale(),
          equations(), stack(),         conv(),         soft_cap(),       clip_bounds(),    split(),      rotary(),
          top_k(),     expert_linear(), dispatch(),     grouped_linear(), expert_load()};
}

}  // namespace

class AttributesTest : public QObject {
  Q_OBJECT

 private slots:
  // Law: the text says all of it, so that a hash of the text tells two plans apart.
  void the_text_differs_when_any_field_differs() {
    for (const Family& family : families()) {
      for (size_t i = 0; i < family.variants.size(); ++i) {
        const Attributes &one = family.variants[i], copy = one;
        QVERIFY2(one == copy && one.text() == copy.text() && !one.text().empty(), family.name);
        for (size_t j = 0; j < i; ++j) {
          const Attributes& other = family.variants[j];
          QVERIFY2(!(one == other), (one.text() + " / " + other.text()).c_str());
          QVERIFY2(one.text() != other.text(), (std::string(family.name) + ": " + one.text()).c_str());
        }
      }
    }
  }

  void every_op_with_attributes_has_a_family_here() {
    for (const OpCase& one : op_cases()) {
      if (one.attributes == Attributes()) continue;
      const Attributes& a = one.attributes;
      QVERIFY2(a.are<AdamAttributes>() || a.are<DropoutAttributes>() || a.are<AttentionAttributes>() ||
                   a.are<CastAttributes>() || a.are<ConstantAttributes>() || a.are<InitialiseAttributes>() ||
                   a.are<EmbeddingGradAttributes>() || a.are<LayerNormAttributes>() || a.are<ScaleAttributes>() ||
                   a.are<EquationAttributes>() || a.are<SgdAttributes>() || a.are<StackAttributes>() ||
                   a.are<MomentumSgdAttributes>() || a.are<LionAttributes>() || a.are<ClipAttributes>() ||
                   a.are<ConvAttributes>() || a.are<SoftCapAttributes>() || a.are<ClipBoundsAttributes>() ||
                   a.are<SplitAttributes>() || a.are<ExpertLoadAttributes>() || a.are<RotaryAttributes>() ||
                   a.are<TopKAttributes>() || a.are<ExpertLinearAttributes>() || a.are<DispatchAttributes>() ||
                   a.are<GroupedLinearAttributes>() || a.are<RingAttributes>() || a.are<RollAttributes>() ||
                   a.are<ZigzagAttributes>(),
               one.op.c_str());
    }
  }
};

REGISTER_TEST(AttributesTest)

}  // namespace attributes_test

#include "attributes_test.moc"
