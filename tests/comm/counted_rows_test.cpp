#include "tests/comm/counted_rows_checks.h"

#include <QtTest>

#include "tests/base/errors_of.h"
#include "tests/comm/thread_ranks.h"
#include "tests/test_program.h"

namespace counted_rows_test {

using namespace shardscope;
using namespace shardscope::checks;

class CountedRowsTest : public QObject {
  Q_OBJECT

 private slots:
  void an_all_to_all_moves_the_counted_rows_and_no_others_data() {
    QTest::addColumn<int>("ranks");
    for (int ranks : {2, 3, 4, 8}) QTest::addRow("%d ranks", ranks) << ranks;
  }
  void an_all_to_all_moves_the_counted_rows_and_no_others() {
    QFETCH(int, ranks);
    const auto bytes = static_cast<size_t>(8 * ranks * counted::rows * counted::width) * sizeof(float);
    const std::vector<Outcome> outcomes = run_ranks(ranks, bytes, [](Communicator& all, std::span<std::byte> arena) {
      check_counted_rows(all, arena, Transport());
    });
    QCOMPARE(QString::fromStdString(first_failure(outcomes)), QString());
  }

  void counts_of_other_dimensions_or_of_one_side_are_refused() {
    run_ranks(1, 4096, [](Communicator& all, std::span<std::byte> arena) {
      auto* memory = reinterpret_cast<float*>(arena.data());
      const int32_t counts[4] = {};
      CollectivePart part{memory, memory + 64, {2, 2, 2, 2}, DType::f32, 2, 1};
      part.sent_rows = part.received_rows = counts;
      QCOMPARE(error_of([&] { all.all_to_all({&part, 1}); }).code, std::string("comm_argument"));
      part.split_dim = 0;
      all.all_to_all({&part, 1});
      for (const auto side : {&CollectivePart::sent_rows, &CollectivePart::received_rows}) {
        CollectivePart one = part;
        one.*side = nullptr;
        QCOMPARE(error_of([&] { all.all_to_all({&one, 1}); }).code, std::string("comm_argument"));
      }
    });
  }
};

REGISTER_TEST(CountedRowsTest)

}  // namespace counted_rows_test

#include "counted_rows_test.moc"
