#include <QtTest>

#include <algorithm>

#include "tests/base/errors_of.h"
#include "tests/comm/thread_ranks.h"
#include "tests/test_program.h"

namespace counted_rows_test {

using namespace shardscope;
using namespace shardscope::checks;

namespace {

constexpr int64_t rows = 60, width = 24, groups = 3;
constexpr float untouched = -1;

// How many rows of block (i, j) of the whole array are counted in a group, and what element is there.
int32_t count_of(int64_t i, int64_t j, int64_t group) { return static_cast<int32_t>((5 * i + 7 * j + 3 * group) % 12); }
float element_of(int64_t i, int64_t j, int64_t at) { return static_cast<float>(10000 * i + 1000 * j + at % 1000); }

struct Blocks {
  int64_t first_row, rows, first_column, columns;  // of (i, j) that a rank has
};

// An array of blocks, and the counts of each.
struct Part {
  float* elements;
  std::vector<int32_t> counts;

  Part(const Blocks& blocks, float* memory) : elements(memory) {
    for (int64_t i = 0; i < blocks.rows; ++i) {
      for (int64_t j = 0; j < blocks.columns; ++j) {
        for (int64_t g = 0; g < groups; ++g) {
          counts.push_back(count_of(blocks.first_row + i, blocks.first_column + j, g));
        }
      }
    }
  }
};

// From blocks that are split along one dimension to blocks split along the other, `each` of them a rank and dimension.
void exchange(Communicator& all, std::span<std::byte> arena, int64_t each, bool back) {
  const int64_t p = all.size(), whole = p * each, own = all.rank() * each, block = rows * width;
  const Blocks rows_here{own, each, 0, whole}, columns_here{0, whole, own, each};
  const Blocks &from = back ? columns_here : rows_here, &to = back ? rows_here : columns_here;
  auto* memory = reinterpret_cast<float*>(arena.data());
  Part source(from, memory), destination(to, memory + whole * each * block);
  for (int64_t b = 0; b < whole * each; ++b) {
    const int64_t i = from.first_row + b / from.columns, j = from.first_column + b % from.columns;
    for (int64_t at = 0; at < block; ++at) source.elements[b * block + at] = element_of(i, j, at);
  }
  std::fill_n(destination.elements, whole * each * block, untouched);
  CollectivePart part{source.elements, destination.elements, {from.rows, from.columns, rows, width}, DType::f32};
  part.split_dim = back ? 0 : 1;
  part.concat_dim = back ? 1 : 0;
  part.received_rows = destination.counts.data();
  part.row_groups = groups;
  const CommunicationRecord record = all.all_to_all({&part, 1});
  int64_t counted = 0;
  for (int64_t b = 0; b < whole * each; ++b) {
    const int64_t i = to.first_row + b / to.columns, j = to.first_column + b % to.columns;
    int64_t held = 0;
    for (int64_t g = 0; g < groups; ++g) held += count_of(i, j, g);
    counted += held;
    for (int64_t at = 0; at < block; ++at) {
      const float expected = at < held * width ? element_of(i, j, at) : untouched;
      if (destination.elements[b * block + at] != expected) throw std::runtime_error("another element");
    }
  }
  const auto bytes = static_cast<int64_t>(sizeof(float));
  if (record.moved_bytes != counted * width * bytes) throw std::runtime_error("other bytes moved than are counted");
  const double bound =
      static_cast<double>(whole * each * block * bytes) * static_cast<double>(p - 1) / static_cast<double>(p);
  if (record.wire_bytes != bound) throw std::runtime_error("wire bytes are those of all rows");
}

}  // namespace

class CountedRowsTest : public QObject {
  Q_OBJECT

 private slots:
  void an_all_to_all_moves_the_counted_rows_and_no_others_data() {
    QTest::addColumn<int>("ranks");
    QTest::addColumn<int>("each");
    for (int ranks : {2, 3, 4, 8}) {
      for (int each : {1, 2}) QTest::addRow("%d ranks, %d blocks", ranks, each) << ranks << each;
    }
  }
  void an_all_to_all_moves_the_counted_rows_and_no_others() {
    QFETCH(int, ranks);
    QFETCH(int, each);
    const auto bytes = static_cast<size_t>(2 * ranks * each * each * rows * width) * sizeof(float);
    for (bool back : {false, true}) {
      const std::vector<Outcome> outcomes = run_ranks(
          ranks, bytes, [&](Communicator& all, std::span<std::byte> arena) { exchange(all, arena, each, back); });
      QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
    }
  }

  void counts_of_other_dimensions_are_refused() {
    run_ranks(1, 4096, [](Communicator& all, std::span<std::byte> arena) {
      auto* memory = reinterpret_cast<float*>(arena.data());
      const int32_t counts[4] = {};
      CollectivePart part{memory, memory + 64, {2, 2, 2, 2}, DType::f32, 2, 1};
      part.received_rows = counts;
      QCOMPARE(error_of([&] { all.all_to_all({&part, 1}); }).code, std::string("comm_argument"));
    });
  }
};

REGISTER_TEST(CountedRowsTest)

}  // namespace counted_rows_test

#include "counted_rows_test.moc"
