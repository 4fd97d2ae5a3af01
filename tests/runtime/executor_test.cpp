#include "engine/mesh/permute.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"  // before Qt, which makes `emit` a keyword
#include "tests/runtime/small_plan.h"
#include "tests/test_program.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

namespace executor_test {

using namespace shardscope;

namespace {

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  Mesh mesh() {
    static const std::vector<std::vector<int64_t>> sizes = {{2}, {4}, {2, 2}, {3, 2}, {4, 2}, {2, 2, 2}, {1, 3}};
    std::vector<MeshAxis> axes;
    int count = 1;
    for (int64_t size : sizes[below(sizes.size())]) {
      axes.push_back({std::string(1, static_cast<char>('a' + axes.size())), size});
      count *= static_cast<int>(size);
    }
    std::vector<int> devices(count);
    std::iota(devices.begin(), devices.end(), 0);
    if (below(2)) std::shuffle(devices.begin(), devices.end(), random_);
    return Mesh(axes, devices);
  }

  Sharding sharding(const Mesh& mesh, int rank, bool with_partial) {
    std::vector<AxisIndex> axes(mesh.axis_count());
    std::iota(axes.begin(), axes.end(), AxisIndex{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    Sharding sharding = Sharding::replicated(rank);
    for (AxisIndex axis : axes) {
      const int64_t where = below(rank + 2);
      if (where < rank) sharding.dims[where].push_back(axis);
      if (where == rank && with_partial) sharding.partial |= static_cast<uint8_t>(1u << axis);
    }
    return sharding;
  }

  // Every sharding divides it.
  Shape shape(const Mesh& mesh, int rank) {
    Shape shape(rank);
    for (int64_t& size : shape) size = mesh.device_count() * (1 + below(2));
    return shape;
  }

  std::vector<float> whole_numbers(int64_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(below(2001) - 1000);
    return values;
  }

 private:
  std::mt19937_64 random_;
};

// Gives each device a part of what it holds, such that those of a group add up to it, or have it as their maximum
// (exactly).
void fill_partial(SmallPlan& small, Cases& cases, const std::vector<float>& whole, int value) {
  const Sharding& sharding = small.plan.program.values[value].sharding;
  std::vector<AxisIndex> axes;
  for (AxisIndex axis = 0; axis < small.plan.mesh.axis_count(); ++axis) {
    if (sharding.partial >> axis & 1) axes.push_back(axis);
  }
  small.fill(whole, value);
  for (int device = 0; device < small.plan.mesh.device_count(); ++device) {
    const std::vector<int> group = small.plan.mesh.group(device, axes);
    if (group.front() != device) continue;
    const std::span<float> rest = small.part(device, value);
    for (size_t i = 1; i < group.size(); ++i) {
      const std::vector<float> summand = cases.whole_numbers(static_cast<int64_t>(rest.size()));
      const std::span<float> other = small.part(group[i], value);
      for (size_t j = 0; j < rest.size(); ++j) {
        if (sharding.reduction == Reduction::max) {
          other[j] = rest[j] - std::abs(summand[j]);
          if (cases.below(2)) std::swap(other[j], rest[j]);
        } else {
          other[j] = summand[j];
          rest[j] -= summand[j];
        }
      }
    }
  }
}

bool holds(SmallPlan& small, const std::vector<float>& whole, int value) {
  for (int device = 0; device < small.plan.mesh.device_count(); ++device) {
    const std::span<float> part = small.part(device, value);
    if (!std::ranges::equal(part, small.cut(whole, device, value))) return false;
  }
  return true;
}

class Recorder : public ExecutionObserver {
 public:
  void begin(int step) override { text += "b" + std::to_string(step) + " "; }
  void end(int step, int64_t waited_ns, int64_t bytes) override {
    text += "e" + std::to_string(step) + " ";
    waited.push_back(waited_ns);
    sent.push_back(bytes);
  }
  std::string text;
  std::vector<int64_t> waited, sent;
};

class Unknown : public OpDefinition {
 public:
  std::string_view name() const override { return "no_such_kernel"; }
  OpSignature infer(const Attributes&, std::span<const TensorType>) const override { return {}; }
  double flops(const Attributes&, std::span<const TensorType>, std::span<const TensorType>) const override { return 0; }
};

std::string failure_place(SmallPlan& small) {
  try {
    small.run();
  } catch (const Failure& failure) {
    return to_string(failure.errors().front().place);
  }
  return "no failure";
}

AxisList list(std::initializer_list<AxisIndex> axes) {
  AxisList result;
  for (AxisIndex axis : axes) result.push_back(axis);
  return result;
}

Mesh grid(int64_t a, int64_t b) { return Mesh({{"a", a}, {"b", b}}); }

}  // namespace

class ExecutorTest : public QObject {
  Q_OBJECT

 private slots:
  void resharding_there_and_back_keeps_every_bit() {
    Cases cases(1);
    std::map<InstructionKind, int> seen;
    for (int repeat = 0; repeat < 150; ++repeat) {
      const Mesh mesh = cases.mesh();
      const int rank = 1 + static_cast<int>(cases.below(3));
      const Shape shape = cases.shape(mesh, rank);
      const Sharding from = cases.sharding(mesh, rank, false), to = cases.sharding(mesh, rank, false);
      SmallPlan small(mesh);
      std::vector<int> sources;  // a bucket
      for (int64_t i = 0; i <= cases.below(3); ++i) sources.push_back(small.add_value(shape, from));
      const std::vector<int> there = small.add_reshard(sources, to);
      const std::vector<int> back = small.add_reshard(there, from);
      small.allocate();
      std::vector<std::vector<float>> wholes;
      for (int source : sources) {
        wholes.push_back(cases.whole_numbers(element_count(shape)));
        small.fill(wholes.back(), source);
      }
      small.run();
      for (size_t i = 0; i < sources.size(); ++i) {
        QVERIFY2(holds(small, wholes[i], there[i]), (to_string(from, mesh) + " -> " + to_string(to, mesh)).c_str());
        QVERIFY2(holds(small, wholes[i], back[i]), (to_string(to, mesh) + " -> " + to_string(from, mesh)).c_str());
      }
      for (const Instruction& instruction : small.instructions()) ++seen[instruction.kind()];
    }
    for (InstructionKind kind : {InstructionKind::slice, InstructionKind::all_gather, InstructionKind::all_to_all,
                                 InstructionKind::collective_permute}) {
      QVERIFY2(seen[kind] > 3, "every kind of step must occur");
    }
  }

  void finishing_a_sum_or_a_maximum_gives_each_device_its_part_of_it_data() {
    QTest::addColumn<bool>("maximum");
    QTest::newRow("sum") << false;
    QTest::newRow("maximum") << true;
  }
  void finishing_a_sum_or_a_maximum_gives_each_device_its_part_of_it() {
    QFETCH(bool, maximum);
    Cases cases(2);
    std::map<InstructionKind, int> seen;
    for (int repeat = 0; repeat < 150; ++repeat) {
      const Mesh mesh = cases.mesh();
      const int rank = 1 + static_cast<int>(cases.below(2));
      const Shape shape = cases.shape(mesh, rank);
      Sharding from = cases.sharding(mesh, rank, true);
      for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {  // no replicas, whose summands would have to agree
        if (!(from.used_axes() >> axis & 1)) from.partial |= static_cast<uint8_t>(1u << axis);
      }
      if (maximum && from.partial) from.reduction = Reduction::max;
      const Sharding to = cases.sharding(mesh, rank, false);
      SmallPlan small(mesh);
      const int source = small.add_value(shape, from);
      const int result = small.add_reshard({source}, to)[0];
      small.allocate();
      const std::vector<float> whole = cases.whole_numbers(element_count(shape));
      fill_partial(small, cases, whole, source);
      small.run();
      QVERIFY2(holds(small, whole, result), (to_string(from, mesh) + " -> " + to_string(to, mesh)).c_str());
      for (const Instruction& instruction : small.instructions()) ++seen[instruction.kind()];
    }
    QVERIFY(seen[InstructionKind::all_reduce] > 3 && seen[InstructionKind::reduce_scatter] > 3);
  }

  void a_product_split_along_its_contraction_equals_the_whole_one() {
    Cases cases(3);
    const Mesh mesh = grid(2, 2);
    SmallPlan small(mesh);
    Sharding left = Sharding::replicated(2), right = left, product = left, result = left;
    left.dims = {list({0}), list({1})};
    right.dims = {list({1}), {}};
    product.dims = {list({0}), {}};
    product.partial = 2;
    result.dims = product.dims;
    const int x = small.add_value({8, 6}, left), w = small.add_value({6, 10}, right);
    const int partial = small.add_value({8, 10}, product), y = small.add_value({8, 10}, result);
    Op op;
    op.definition = &op_definition("einsum");
    op.attributes = EquationAttributes{"mk,kn->mn"};
    small.graph->ops.push_back(op);
    const std::vector<TensorType> operands = {{{4, 3}, DType::f32}, {{3, 10}, DType::f32}};
    const std::vector<TensorType> results = {{{4, 10}, DType::f32}};
    small.compute({x, w}, {partial}).op = 0;
    small.plan.arenas[0].workspace[{0, 0}] =
        small.add_buffer(op.definition->workspace_bytes(op.attributes, operands, results, small.plan.threads_per_rank));
    small.collective(InstructionKind::all_reduce, {partial}, {y}, list({1}));
    small.allocate();
    const std::vector<float> a = cases.whole_numbers(48), b = cases.whole_numbers(60);
    small.fill(a, x);
    small.fill(b, w);
    small.run(2);
    std::vector<float> expected(80);
    for (int m = 0; m < 8; ++m) {
      for (int k = 0; k < 6; ++k) {
        for (int n = 0; n < 10; ++n) expected[10 * m + n] += a[6 * m + k] * b[10 * k + n];
      }
    }
    QVERIFY(holds(small, expected, y));
  }

  void an_observer_sees_every_step_in_order_and_what_was_sent() {
    SmallPlan small(grid(2, 2));
    const Sharding whole = Sharding::replicated(1);
    Sharding split = whole, finer = whole;
    split.dims[0] = list({0});
    finer.dims[0] = list({0, 1});
    const int source = small.add_value({64}, whole);
    const int cut = small.add_reshard({source}, finer)[0];
    const int joined = small.add_reshard({cut}, split)[0];
    small.add_reshard({joined}, whole);
    small.allocate();
    std::vector<Recorder> recorders(4);
    small.run(1, {&recorders[0], &recorders[1], &recorders[2], &recorders[3]});
    for (const Recorder& recorder : recorders) {
      QCOMPARE(recorder.text, std::string("b0 e0 b1 e1 b2 e2 b3 e3 b4 e4 "));
      // Half of 32, then half of 64 elements, when they are done.
      QVERIFY((recorder.sent == std::vector<int64_t>{0, 0, 64, 0, 128}));
      QVERIFY(recorder.waited[0] == 0 && recorder.waited[1] == 0 && recorder.waited[3] == 0);
      QVERIFY(recorder.waited[2] > 0 && recorder.waited[4] > 0);
    }
  }

  void an_error_names_its_step() {
    const Unknown unknown;
    Op op;
    op.definition = &unknown;
    op.name = "MLP_0/odd";
    SmallPlan missing(grid(1, 2));
    missing.graph->ops.push_back(op);
    const int value = missing.add_value({4}, Sharding::replicated(1));
    missing.slice({value}, {missing.add_value({4}, Sharding::replicated(1))});
    missing.compute({value}, {value}).op = 0;
    missing.allocate();
    QVERIFY(failure_place(missing).starts_with("step 1 (MLP_0/odd)"));

    SmallPlan wrong(grid(1, 2));
    Sharding split = Sharding::replicated(1);
    split.dims[0] = list({1});
    const int part = wrong.add_value({4}, split);
    wrong.slice({part}, {wrong.add_value({4}, Sharding::replicated(1))}).as<Slice>()->axes = list({1});
    wrong.allocate();
    QVERIFY(failure_place(wrong).starts_with("step 0 (slice over b of value 0)"));

    SmallPlan refused(grid(1, 2));
    const int half = refused.add_value({4}, split), whole = refused.add_value({4}, Sharding::replicated(1));
    refused.collective(InstructionKind::all_gather, {half}, {whole}, list({1}))
        .as<CollectiveStart>()
        ->moved[0]
        .concat_dim = 7;
    refused.allocate();
    QVERIFY(failure_place(refused).starts_with("step 0 (all-gather over b of value 0)"));
  }

  void a_permute_gives_each_device_its_box_and_moves_no_more_than_it_must() {
    Cases cases(4);
    for (int repeat = 0; repeat < 300; ++repeat) {
      const Mesh mesh = grid(2 + cases.below(2), 2);
      std::vector<int> devices(mesh.device_count());
      std::iota(devices.begin(), devices.end(), 0);
      Sharding source = Sharding::replicated(2), destination = source;
      if (repeat % 2) {
        source.dims = {list({0, 1}), {}};
        destination.dims = {list({1, 0}), {}};
      } else {
        source.dims = {list({0}), list({1})};
        destination = source;
      }
      const Shape shape = {12, 4};
      const std::vector<int> to = permute_destinations(mesh, shape, source, destination, devices);
      std::vector<int> sorted = to;
      std::ranges::sort(sorted);
      QVERIFY(sorted == devices);
      for (int device : devices) {
        QVERIFY(shard_box(source, mesh, shape, device) == shard_box(destination, mesh, shape, to[device]));
        if (shard_box(source, mesh, shape, device) == shard_box(destination, mesh, shape, device)) {
          QCOMPARE(to[device], device);
        }
      }
    }
    Sharding split = Sharding::replicated(1);
    split.dims[0] = list({0});
    QVERIFY_THROWS_EXCEPTION(Failure, permute_destinations(grid(2, 1), {4}, split, Sharding::replicated(1), {0, 1}));
  }
};

REGISTER_TEST(ExecutorTest)

}  // namespace executor_test

#include "executor_test.moc"
