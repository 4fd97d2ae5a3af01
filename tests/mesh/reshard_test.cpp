#include "engine/mesh/reshard.h"

#include <QTest>
#include <algorithm>
#include <random>

#include "tests/mesh/random_pair.h"
#include "tests/test_program.h"

namespace reshard_test {

using namespace shardscope;

namespace {

constexpr int case_count = 2000;

// An array on every device of a mesh, held and moved as the definitions of layouts and collectives say.
class Cluster {
 public:
  using Array = std::vector<double>;  // row-major

  // Every device gets its box of `whole`; of a partial value, random parts whose sum or maximum it is.
  Cluster(const Mesh& mesh, const Shape& shape, const Sharding& sharding, const Array& whole, std::mt19937& random)
      : mesh_(mesh), shape_(shape), sharding_(sharding), local_(mesh.device_count()) {
    AxisList summed;
    for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
      if ((sharding.partial >> axis) & 1) summed.push_back(axis);
    }
    for (int device = 0; device < mesh.device_count(); ++device) {
      local_[device] = cut(whole, Box{Shape(shape.size()), shape}, box(device));
    }
    const std::vector<AxisIndex> axes(summed.begin(), summed.end());
    for (int device = 0; device < mesh.device_count(); ++device) {
      if (mesh.group_index(device, axes) != 0) continue;
      for (int other : mesh.group(device, axes)) {
        if (other == device) continue;
        for (size_t i = 0; i < local_[device].size(); ++i) {
          const double part = static_cast<double>(random() % 1000);
          if (sharding.reduction == Reduction::max) {
            local_[other][i] -= part;
            if (random() % 2) std::swap(local_[other][i], local_[device][i]);
          } else {
            local_[other][i] = part;
            local_[device][i] -= part;
          }
        }
      }
    }
    agree_among_replicas();
  }

  void apply(const ReshardStep& step) {
    const std::vector<AxisIndex> axes(step.axes.begin(), step.axes.end());
    std::vector<Array> next(local_.size());
    for (int device = 0; device < mesh_.device_count(); ++device) {
      const Box target = shard_box(step.result, mesh_, shape_, device);
      const std::vector<int> group = mesh_.group(device, axes);
      switch (step.kind) {
        case InstructionKind::slice: next[device] = cut(local_[device], box(device), target); break;
        case InstructionKind::all_reduce:
        case InstructionKind::reduce_scatter:
          next[device] = cut(reduced(group, step.reduction), box(device), target);
          break;
        case InstructionKind::all_gather:
        case InstructionKind::all_to_all: next[device] = join(group, target); break;
        case InstructionKind::collective_permute: next[device] = local_[holder(group, target)]; break;
        case InstructionKind::compute:
        case InstructionKind::send:
        case InstructionKind::receive:
        case InstructionKind::collective_done: qFatal("not of a reshard");
      }
    }
    local_ = std::move(next);
    sharding_ = step.result;
  }

  // True where the devices' boxes, summed (or their maximum taken) over the partial axes, are those of `whole`.
  bool holds(const Array& whole) const {
    std::vector<AxisIndex> summed;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis) {
      if ((sharding_.partial >> axis) & 1) summed.push_back(axis);
    }
    const Box all{Shape(shape_.size()), shape_};
    for (int device = 0; device < mesh_.device_count(); ++device) {
      if (reduced(mesh_.group(device, summed), sharding_.reduction) != cut(whole, all, box(device))) return false;
    }
    return true;
  }

 private:
  Box box(int device) const { return shard_box(sharding_, mesh_, shape_, device); }

  // Devices that differ only in axes that the layout does not use hold the same.
  void agree_among_replicas() {
    std::vector<AxisIndex> unused;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis) {
      if (!((sharding_.used_axes() >> axis) & 1)) unused.push_back(axis);
    }
    for (int device = 0; device < mesh_.device_count(); ++device)
      local_[device] = local_[mesh_.group(device, unused)[0]];
  }

  Array reduced(const std::vector<int>& group, Reduction reduction) const {
    Array total = local_[group[0]];
    for (size_t member = 1; member < group.size(); ++member) {
      for (size_t i = 0; i < total.size(); ++i) {
        const double part = local_[group[member]][i];
        total[i] = reduction == Reduction::max ? std::max(total[i], part) : total[i] + part;
      }
    }
    return total;
  }

  // What the group holds together of `target`; elements that nobody holds stay NaN.
  Array join(const std::vector<int>& group, const Box& target) const {
    Array joined(element_count(target.size), std::nan(""));
    for (int device : group) {
      const Box from = box(device);
      for_each(target, [&](const Shape& index, int64_t at) {
        if (inside(from, index)) joined[at] = local_[device][offset(from, index)];
      });
    }
    return joined;
  }

  int holder(const std::vector<int>& group, const Box& target) const {
    for (int device : group) {
      if (box(device) == target) return device;
    }
    return group[0];
  }

  static bool inside(const Box& box, const Shape& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d] < box.start[d] || index[d] >= box.start[d] + box.size[d]) return false;
    }
    return true;
  }

  static int64_t offset(const Box& box, const Shape& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at = at * box.size[d] + index[d] - box.start[d];
    return at;
  }

  template <class Visit>
  static void for_each(const Box& box, Visit visit) {
    for (int64_t at = 0; at < element_count(box.size); ++at) {
      Shape index(box.start);
      int64_t rest = at;
      for (size_t d = index.size(); d-- > 0;) index[d] += rest % box.size[d], rest /= box.size[d];
      visit(index, at);
    }
  }

  static Array cut(const Array& array, const Box& from, const Box& target) {
    Array part(element_count(target.size), std::nan(""));
    for_each(target, [&](const Shape& index, int64_t at) {
      if (inside(from, index)) part[at] = array[offset(from, index)];
    });
    return part;
  }

  const Mesh& mesh_;
  const Shape& shape_;
  Sharding sharding_;
  std::vector<Array> local_;
};

Cluster::Array random_array(const Shape& shape, std::mt19937& random) {
  Cluster::Array array(element_count(shape));
  for (double& element : array) element = static_cast<double>(random() % 100000);
  return array;
}

double total_wire_bytes(const Pair& pair, const std::vector<ReshardStep>& path) {
  double total = 0;
  Sharding current = pair.from;
  for (const ReshardStep& step : path) {
    total += wire_bytes(step, current, pair.mesh, {pair.shape, DType::f32});
    current = step.result;
  }
  return total;
}

// Sums finished over whole shards, then every dimension joined to the part that both layouts share, then cut.
double plain_wire_bytes(const Pair& pair) {
  double bytes = 4;
  for (int64_t size : local_shape(pair.from, pair.mesh, pair.shape)) bytes *= static_cast<double>(size);
  double total = 0, summed = 1;
  for (AxisIndex axis = 0; axis < pair.mesh.axis_count(); ++axis) {
    if ((pair.from.partial & ~pair.to.partial) >> axis & 1) summed *= static_cast<double>(pair.mesh.axis_size(axis));
  }
  total += 2 * (summed - 1) / summed * bytes;
  for (int d = 0; d < pair.from.rank; ++d) {
    double joined = 1;
    bool common = true;
    for (int i = 0; i < pair.from.dims[d].count; ++i) {
      common &= i < pair.to.dims[d].count && pair.to.dims[d].axes[i] == pair.from.dims[d].axes[i];
      if (!common) joined *= static_cast<double>(pair.mesh.axis_size(pair.from.dims[d].axes[i]));
    }
    bytes *= joined;
    total += (joined - 1) / joined * bytes;
  }
  return total;
}

}  // namespace

class ReshardTest : public QObject {
  Q_OBJECT

 private slots:
  void a_path_ends_where_it_should_with_the_same_array() {
    Pairs pairs(1);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      const Cluster::Array whole = random_array(pair.shape, pairs.random());
      Cluster cluster(pair.mesh, pair.shape, pair.from, whole, pairs.random());
      QVERIFY2(cluster.holds(whole), pair.text().c_str());
      QVERIFY(can_reshard(pair.from, pair.to));
      Sharding last = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        cluster.apply(step);
        QVERIFY2(divides(step.result, pair.mesh, pair.shape), pair.text().c_str());
        QVERIFY2(cluster.holds(whole), pair.text().c_str());
        last = step.result;
      }
      QVERIFY2(last == pair.to, pair.text().c_str());
    }
  }

  void there_and_back_is_bit_exact() {
    Pairs pairs(2);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(false);
      const Cluster::Array whole = random_array(pair.shape, pairs.random());
      Cluster cluster(pair.mesh, pair.shape, pair.from, whole, pairs.random());
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) cluster.apply(step);
      for (const ReshardStep& step : reshard_path(pair.to, pair.from, pair.mesh)) cluster.apply(step);
      QVERIFY2(cluster.holds(whole), pair.text().c_str());
    }
  }

  void a_path_never_moves_more_than_joining_and_cutting() {
    Pairs pairs(3);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      const double moved = total_wire_bytes(pair, reshard_path(pair.from, pair.to, pair.mesh));
      const double plain = plain_wire_bytes(pair);
      QVERIFY2(moved <= plain * (1 + 1e-12),
               (pair.text() + " " + std::to_string(moved) + " of " + std::to_string(plain)).c_str());
    }
  }

  void sums_are_finished_before_anything_moves_and_first_of_all_what_is_whole_is_cut() {
    Pairs pairs(4);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      bool moved = false;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const bool reduces = step.kind == InstructionKind::all_reduce || step.kind == InstructionKind::reduce_scatter;
        QVERIFY2(!reduces || !moved, pair.text().c_str());
        moved |= !reduces && step.kind != InstructionKind::slice;
      }
      const bool equal = pair.from == pair.to;
      QCOMPARE(reshard_path(pair.from, pair.to, pair.mesh).empty(), equal);
    }
  }

  void each_step_names_the_dimensions_that_it_splits_and_joins() {
    Pairs pairs(5);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      Sharding before = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const bool splits = step.kind == InstructionKind::reduce_scatter || step.kind == InstructionKind::all_to_all;
        const bool joins = step.kind == InstructionKind::all_gather || step.kind == InstructionKind::all_to_all;
        QCOMPARE(step.split_dim >= 0, splits);
        QCOMPARE(step.concat_dim >= 0, joins);
        QVERIFY(!step.axes.empty());
        const bool reduces = step.kind == InstructionKind::all_reduce || step.kind == InstructionKind::reduce_scatter;
        if (reduces) QCOMPARE(step.reduction, pair.from.reduction);
        if (step.result.partial == 0) QCOMPARE(step.result.reduction, Reduction::sum);
        const int64_t p = group_size(step.axes, pair.mesh);
        for (int d = 0; d < before.rank && step.kind != InstructionKind::slice; ++d) {
          const int64_t split = d == step.split_dim ? p : 1, joined = d == step.concat_dim ? p : 1;
          QVERIFY2(shard_count(before, pair.mesh, d) * split == shard_count(step.result, pair.mesh, d) * joined,
                   pair.text().c_str());
        }
        before = step.result;
      }
    }
  }

  void a_summand_cannot_be_made_from_a_whole_value() {
    Sharding whole = Sharding::replicated(1), partial = whole;
    partial.partial = 2;
    QVERIFY(!can_reshard(whole, partial));
    QVERIFY(can_reshard(partial, whole));
    QVERIFY(can_reshard(partial, partial));
  }

  void a_partial_sum_cannot_become_a_partial_maximum_nor_the_other_way() {
    Sharding sum = Sharding::replicated(1), max = sum, whole = sum;
    sum.partial = max.partial = 3;
    max.reduction = Reduction::max;
    QVERIFY(!can_reshard(sum, max) && !can_reshard(max, sum));
    QVERIFY(can_reshard(max, max) && can_reshard(max, whole) && can_reshard(sum, whole));
    Sharding less = max, less_sum = sum;
    less.partial = less_sum.partial = 1;
    QVERIFY(can_reshard(max, less) && !can_reshard(less, max) && !can_reshard(max, less_sum));
  }

  void a_partial_maximum_is_finished_like_a_partial_sum() {
    const Mesh mesh({{"a", 2}, {"b", 3}});
    Sharding sum = Sharding::replicated(2), whole = sum, split = sum;
    sum.partial = 3;
    split.dims[1].push_back(1);
    Sharding max = sum;
    max.reduction = Reduction::max;
    for (const Sharding& to : {whole, split}) {
      const std::vector<ReshardStep> sums = reshard_path(sum, to, mesh), maxima = reshard_path(max, to, mesh);
      QCOMPARE(maxima.size(), sums.size());
      for (size_t i = 0; i < sums.size(); ++i) {
        QCOMPARE(maxima[i].kind, sums[i].kind);
        QVERIFY(maxima[i].axes == sums[i].axes && maxima[i].split_dim == sums[i].split_dim);
        QCOMPARE(sums[i].reduction, Reduction::sum);
        QCOMPARE(maxima[i].reduction, Reduction::max);
      }
      QVERIFY(maxima.back().result == to);
    }
    QCOMPARE(to_string(max, mesh), std::string("P(None, None, unreduced_max={'a', 'b'})"));
    QCOMPARE(to_string(sum, mesh), std::string("P(None, None, unreduced={'a', 'b'})"));
  }
};

REGISTER_TEST(ReshardTest)

}  // namespace reshard_test

#include "reshard_test.moc"
