#include "engine/mesh/sharding.h"

#include <QTest>
#include <algorithm>

#include "engine/mesh/partition_spec.h"
#include "tests/mesh/golden_case.h"
#include "tests/mesh/random_case.h"
#include "tests/test_program.h"

namespace sharding_test {

using namespace shardscope;

namespace {

constexpr int case_count = 400;

// Adds one to every element of `counts` (row-major, of `shape`) that is in the box.
void count_box(const Box& box, const Shape& shape, std::vector<int>& counts) {
  for (int64_t index = 0; index < element_count(shape); ++index) {
    int64_t rest = index;
    bool inside = true;
    for (size_t dim = shape.size(); dim-- > 0;) {
      const int64_t at = rest % shape[dim];
      rest /= shape[dim];
      inside &= at >= box.start[dim] && at < box.start[dim] + box.size[dim];
    }
    counts[index] += inside;
  }
}

}  // namespace

class ShardingTest : public QObject {
  Q_OBJECT
 private slots:
  void boxes_are_those_of_jax() {
    const std::vector<GoldenCase> cases = golden_cases("index_maps.json");
    QVERIFY(cases.size() >= 250);
    for (const GoldenCase& golden : cases) {
      const Sharding sharding = golden.sharding();
      QVERIFY2(check(golden.spec, golden.mesh, golden.shape, "").empty(), golden.text().c_str());
      const QJsonArray map = golden.object["index_map"].toArray();
      QCOMPARE(map.size(), golden.mesh.device_count());
      for (const QJsonValue& entry : map) {
        const Box box = shard_box(sharding, golden.mesh, golden.shape, entry[0].toInt());
        QCOMPARE(static_cast<qsizetype>(box.start.size()), entry[1].toArray().size());
        for (size_t dim = 0; dim < golden.shape.size(); ++dim) {
          QVERIFY2(box.start[dim] == entry[1][dim][0].toInteger(), golden.text().c_str());
          QVERIFY2(box.start[dim] + box.size[dim] == entry[1][dim][1].toInteger(), golden.text().c_str());
        }
      }
      Shape shard_shape;
      for (const QJsonValue& size : golden.object["shard_shape"].toArray()) shard_shape.push_back(size.toInteger());
      QVERIFY2(local_shape(sharding, golden.mesh, golden.shape) == shard_shape, golden.text().c_str());
      QCOMPARE(fully_replicated(sharding, golden.mesh), golden.object["fully_replicated"].toBool());
    }
  }

  void boxes_of_devices_that_are_not_replicas_tile_the_array() {
    RandomCases cases(3);
    for (int i = 0; i < case_count; ++i) {
      const RandomCase one = cases.next();
      std::vector<int> counts(element_count(one.shape));
      for (int device = 0; device < one.mesh.device_count(); ++device) {
        if (replicas(one.sharding, one.mesh, one.shape, device).front() != device) continue;
        count_box(shard_box(one.sharding, one.mesh, one.shape, device), one.shape, counts);
      }
      QVERIFY2(std::all_of(counts.begin(), counts.end(), [](int count) { return count == 1; }), one.text().c_str());
    }
  }

  void replicas_are_the_devices_with_the_same_box() {
    RandomCases cases(4);
    for (int i = 0; i < case_count; ++i) {
      RandomCase one = cases.next(true);
      if (!one.shape.empty() && cases.below(8) == 0) one.shape[0] = 0;
      for (int device = 0; device < one.mesh.device_count(); ++device) {
        const Box box = shard_box(one.sharding, one.mesh, one.shape, device);
        std::vector<int> same;
        for (int other = 0; other < one.mesh.device_count(); ++other) {
          if (shard_box(one.sharding, one.mesh, one.shape, other) == box) same.push_back(other);
        }
        QVERIFY2(replicas(one.sharding, one.mesh, one.shape, device) == same, one.text().c_str());
      }
    }
  }

  void the_local_shape_times_the_shards_is_the_shape() {
    RandomCases cases(5);
    for (int i = 0; i < case_count; ++i) {
      const RandomCase one = cases.next(true);
      QVERIFY(divides(one.sharding, one.mesh, one.shape));
      Shape whole = local_shape(one.sharding, one.mesh, one.shape);
      int64_t shards = 1;
      for (int dim = 0; dim < one.sharding.rank; ++dim) {
        whole[dim] *= shard_count(one.sharding, one.mesh, dim);
        shards *= shard_count(one.sharding, one.mesh, dim);
      }
      QVERIFY2(whole == one.shape, one.text().c_str());
      QCOMPARE(fully_replicated(one.sharding, one.mesh), shards == 1);
      const auto copies = static_cast<int64_t>(replicas(one.sharding, one.mesh, one.shape, 0).size());
      QCOMPARE(copies * shards, one.mesh.device_count());
    }
  }

  void a_size_that_is_no_multiple_of_its_shards_does_not_divide() {
    RandomCases cases(6);
    int tried = 0;
    for (int i = 0; i < case_count; ++i) {
      const RandomCase one = cases.next();
      for (int dim = 0; dim < one.sharding.rank; ++dim) {
        if (shard_count(one.sharding, one.mesh, dim) == 1) continue;
        Shape shape = one.shape;
        shape[dim] += 1;
        QVERIFY2(!divides(one.sharding, one.mesh, shape), one.text().c_str());
        ++tried;
      }
    }
    QVERIFY(tried > 100);
  }

  void shardings_are_equal_exactly_when_their_parts_are() {
    RandomCases cases(7);
    for (int i = 0; i < case_count; ++i) {
      const RandomCase one = cases.next(true);
      Sharding changed = one.sharding;
      QVERIFY(changed == one.sharding);
      for (int dim = 0; dim < changed.rank; ++dim) {
        changed.dims[dim].push_back(6);
        QVERIFY(changed != one.sharding);
        QVERIFY(changed.dims[dim].contains(6) && changed.dims[dim].back() == 6);
        QVERIFY(changed.dims[dim].starts_with(one.sharding.dims[dim]));
        QVERIFY(!one.sharding.dims[dim].starts_with(changed.dims[dim]));
        QCOMPARE(changed.used_axes(), static_cast<uint8_t>(one.sharding.used_axes() | 1u << 6));
        changed.dims[dim].pop_back();
        QVERIFY(changed == one.sharding);
      }
      changed.partial ^= 1u << 5;
      QVERIFY(changed != one.sharding);
    }
  }

  void a_sharding_is_written_with_its_axes_in_order() {
    const Mesh mesh({{"data", 2}, {"model", 2}, {"seq", 2}, {"pipe", 2}});
    Sharding sharding = Sharding::replicated(3);
    sharding.dims[0].push_back(0);
    sharding.dims[1].push_back(2);
    sharding.dims[1].push_back(1);
    QCOMPARE(to_string(sharding, mesh), std::string("P('data', ('seq', 'model'), None)"));
    sharding.partial = 1u << 3;
    QCOMPARE(to_string(sharding, mesh), std::string("P('data', ('seq', 'model'), None, unreduced={'pipe'})"));
  }

  void a_rank_that_cannot_be_laid_out_is_a_failure() {
    QVERIFY_THROWS_EXCEPTION(Failure, Sharding::replicated(Sharding::max_rank + 1));
    QVERIFY_THROWS_EXCEPTION(Failure, Sharding::replicated(-1));
  }
};

REGISTER_TEST(ShardingTest)

}  // namespace sharding_test

#include "sharding_test.moc"
