#include <QTest>
#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

#include "engine/mesh/box_runs.h"
#include "tests/test_program.h"

namespace box_runs_test {

using namespace shardscope;

class BoxRunsTest : public QObject {
  Q_OBJECT

 private slots:
  void runs_visit_every_element_of_the_box_once_in_order() {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 500; ++repeat) {
      Shape shape(random() % 5);
      Box box;
      for (int64_t& size : shape) {
        size = 1 + random() % 5;
        box.start.push_back(random() % size);
        box.size.push_back(1 + random() % (size - box.start.back()));
      }
      std::vector<int64_t> expected;
      for (int64_t index = 0; index < element_count(shape); ++index) {
        int64_t rest = index;
        bool inside = true;
        for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim]) {
          const int64_t at = rest % shape[dim] - box.start[dim];
          inside = inside && at >= 0 && at < box.size[dim];
        }
        if (inside) expected.push_back(index);
      }
      std::vector<int64_t> visited;
      const BoxRuns runs(shape, box);
      runs.for_each([&](int64_t array, int64_t local) {
        QCOMPARE(local, static_cast<int64_t>(visited.size()));
        for (int64_t i = 0; i < runs.run_length(); ++i) visited.push_back(array + i);
      });
      QVERIFY(visited == expected);
    }
  }

  void runs_are_as_long_as_the_box_allows() {
    const auto count = [](Shape shape, Box box) { return BoxRuns(shape, box).run_count(); };
    QCOMPARE(count({4, 6, 8}, {{0, 0, 0}, {4, 6, 8}}), int64_t{1});
    QCOMPARE(count({4, 6, 8}, {{2, 0, 0}, {2, 6, 8}}), int64_t{1});
    QCOMPARE(count({4, 6, 8}, {{1, 3, 0}, {1, 3, 8}}), int64_t{1});
    QCOMPARE(count({4, 6, 8}, {{0, 3, 0}, {4, 3, 8}}), int64_t{4});
    QCOMPARE(count({4, 6, 8}, {{0, 0, 4}, {4, 6, 4}}), int64_t{24});
  }

  void what_two_boxes_share_is_visited_once_in_both() {
    std::mt19937 random(2);
    for (int repeat = 0; repeat < 500; ++repeat) {
      Shape shape(random() % 5);
      Box a, b;
      for (int64_t& size : shape) {
        size = 1 + random() % 6;
        for (Box* box : {&a, &b}) {
          box->start.push_back(random() % size);
          box->size.push_back(1 + random() % (size - box->start.back()));
        }
      }
      // Each box holds the elements' numbers in the whole array.
      const auto numbers = [&](const Box& box) {
        std::vector<int64_t> held;
        const BoxRuns runs(shape, box);
        runs.for_each([&](int64_t array, int64_t) {
          for (int64_t i = 0; i < runs.run_length(); ++i) held.push_back(array + i);
        });
        return held;
      };
      const std::vector<int64_t> in_a = numbers(a), in_b = numbers(b);
      std::vector<int64_t> shared, visited;
      std::ranges::set_intersection(in_a, in_b, std::back_inserter(shared));
      const std::optional<Box> common = intersection(a, b);
      QCOMPARE(common.has_value(), !shared.empty());
      if (!common) continue;
      for_each_common_run(a, b, *common, [&](int64_t from, int64_t to, int64_t length) {
        for (int64_t i = 0; i < length; ++i) {
          QCOMPARE(in_a[from + i], in_b[to + i]);
          visited.push_back(in_a[from + i]);
        }
      });
      QVERIFY(visited == shared);
    }
  }

  void an_empty_box_has_no_runs() {
    QCOMPARE(BoxRuns({4, 6}, {{1, 2}, {0, 3}}).run_count(), int64_t{0});
    QCOMPARE(BoxRuns({4, 6}, {{1, 2}, {3, 0}}).run_count(), int64_t{0});
  }
};

REGISTER_TEST(BoxRunsTest)

}  // namespace box_runs_test

#include "box_runs_test.moc"
