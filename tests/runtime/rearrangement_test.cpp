#include <QtTest>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/runtime/kernels/rearrangement.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace rearrangement_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

// Each element of the destination, looked up by its coordinates.
template <class Element>
std::vector<Element> naive(const Shape& sizes, const std::vector<int>& source, const std::vector<int>& destination,
                           const std::vector<Element>& from) {
  std::vector<Element> to(from.size());
  for (size_t i = 0; i < to.size(); ++i) {
    std::vector<int64_t> at(sizes.size());
    int64_t rest = static_cast<int64_t>(i);
    for (size_t d = destination.size(); d-- > 0; rest /= sizes[destination[d]]) {
      at[destination[d]] = rest % sizes[destination[d]];
    }
    int64_t index = 0;
    for (int factor : source) index = index * sizes[factor] + at[factor];
    to[i] = from[index];
  }
  return to;
}

template <class Element>
void compare(const Shape& sizes, const std::vector<int>& source, const std::vector<int>& destination) {
  std::vector<Element> from(static_cast<size_t>(element_count(sizes))), to(from.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Element>(i * 2654435761u);
  const Rearrangement rearrangement(sizes, source, destination, sizeof(Element));
  for (int threads : {1, 2, 3}) {
    std::fill(to.begin(), to.end(), Element{});
    rearrangement.run(from.data(), to.data(), threads);
    QVERIFY(to == naive(sizes, source, destination, from));
  }
}

}  // namespace

class RearrangementTest : public QObject {
  Q_OBJECT

 private slots:
  void every_element_goes_where_its_coordinates_say();
  void large_arrays_are_shared_out_whole();
  void orders_of_different_factors_are_refused();
};

void RearrangementTest::every_element_goes_where_its_coordinates_say() {
  Random random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const size_t rank = static_cast<size_t>(random.integer(0, 5));
    Shape sizes;
    std::vector<int> source, destination;
    for (size_t d = 0; d < rank; ++d) {
      sizes.push_back(random.integer(1, 6));
      source.push_back(static_cast<int>(d));
    }
    for (size_t d = rank; d > 1; --d) std::swap(source[d - 1], source[random.integer(0, static_cast<int64_t>(d) - 1)]);
    destination = source;
    for (size_t d = rank; d > 1; --d) {
      std::swap(destination[d - 1], destination[random.integer(0, static_cast<int64_t>(d) - 1)]);
    }
    compare<uint32_t>(sizes, source, destination);
    compare<uint16_t>(sizes, source, destination);
  }
}

void RearrangementTest::large_arrays_are_shared_out_whole() {
  compare<uint32_t>({30, 40, 50}, {0, 1, 2}, {0, 1, 2});         // a reshape
  compare<uint32_t>({30, 40, 50}, {0, 1, 2}, {1, 0, 2});         // rows stay whole
  compare<uint16_t>({300, 200}, {0, 1}, {1, 0});                 // a transpose
  compare<uint32_t>({4, 60, 8, 9}, {0, 1, 2, 3}, {0, 2, 1, 3});  // split heads
}

void RearrangementTest::orders_of_different_factors_are_refused() {
  QVERIFY_EXCEPTION_THROWN(Rearrangement({2, 3}, {0, 1}, {0, 0}, 4), Failure);
  QVERIFY_EXCEPTION_THROWN(Rearrangement({2, 3}, {0, 1}, {0}, 4), Failure);
}

REGISTER_TEST(RearrangementTest)

}  // namespace rearrangement_test

#include "rearrangement_test.moc"
