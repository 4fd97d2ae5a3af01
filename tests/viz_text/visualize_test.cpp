#include "viz/text/visualize.h"

#include <QRegularExpression>
#include <QTest>

#include "tests/mesh/golden_case.h"
#include "tests/mesh/random_case.h"
#include "tests/test_program.h"

namespace visualize_test {

using namespace shardscope;

namespace {

std::string drawn(const std::vector<MeshAxis>& axes, const std::vector<std::vector<std::string>>& dims,
                  const Shape& shape, uint8_t partial = 0) {
  const Mesh mesh(axes);
  Sharding sharding = to_sharding({dims}, mesh, static_cast<int>(shape.size()));
  sharding.partial = partial;
  return visualize_sharding(sharding, mesh, shape);
}

}  // namespace

class VisualizeTest : public QObject {
  Q_OBJECT
 private slots:
  void drawings_are_those_of_jax_byte_for_byte() {
    const std::vector<GoldenCase> cases = golden_cases("visualize.json");
    QVERIFY(cases.size() >= 160);
    for (const GoldenCase& golden : cases) {
      const std::string drawing = visualize_sharding(golden.sharding(), golden.mesh, golden.shape);
      const std::string expected = golden.object["text"].toString().toStdString();
      QVERIFY2(drawing == expected, (golden.text() + "\n" + drawing + expected).c_str());
    }
  }

  void every_group_of_replicas_is_labelled_once_in_one_piece() {
    RandomCases cases(11);
    for (int i = 0; i < 600; ++i) {
      const RandomCase one = cases.next();
      const QString text = QString::fromStdString(visualize_sharding(one.sharding, one.mesh, one.shape));
      qsizetype groups = 0;
      for (int device = 0; device < one.mesh.device_count(); ++device) {
        const std::vector<int> same = replicas(one.sharding, one.mesh, one.shape, device);
        if (same.front() != device) continue;
        ++groups;
        QStringList ids;
        for (int other : same) ids += QString::number(other);
        const QRegularExpression label("CPU " + ids.join(',') + "(?![0-9,])");
        QVERIFY2(text.count(label) == 1, (one.text() + "\n" + text.toStdString()).c_str());
      }
      QCOMPARE(text.count("CPU "), groups);
      QVERIFY(text.endsWith('\n') && !text.endsWith("\n\n"));
    }
  }

  void drawings_are_rectangles_of_at_most_80_columns() {
    RandomCases cases(12);
    int drawings = 0;
    for (int i = 0; i < 600; ++i) {
      const RandomCase one = cases.next();
      const QString text = QString::fromStdString(visualize_sharding(one.sharding, one.mesh, one.shape));
      if (!text.startsWith(QStringLiteral("┌"))) continue;
      ++drawings;
      const QStringList lines = text.chopped(1).split('\n');
      QVERIFY(lines[0].size() <= 80);
      for (const QString& line : lines) QCOMPARE(line.size(), lines[0].size());
    }
    QVERIFY(drawings > 100);
  }

  void a_higher_rank_is_listed_by_groups_of_devices() {
    QCOMPARE(drawn({{"data", 2}, {"model", 2}}, {{}, {"data"}, {}}, {8, 64, 512}),
             std::string("(8, 64, 512) PartitionSpec(None, 'data', None)\n"
                         "CPU 0,1  [:, 0:32, :]\n"
                         "CPU 2,3  [:, 32:64, :]\n"));
  }

  void a_scalar_is_on_every_device() {
    QCOMPARE(drawn({{"data", 4}}, {}, {}), std::string("() PartitionSpec()\nCPU 0,1,2,3  the scalar\n"));
  }

  void a_partial_value_says_which_summand_each_device_holds() {
    QCOMPARE(drawn({{"data", 2}, {"model", 2}}, {{"data"}, {}}, {8, 4}, 1u << 1),
             std::string("(8, 4) PartitionSpec('data', None), still to be summed over 'model'\n"
                         "CPU 0  [0:4, :]  summand 1 of 2\n"
                         "CPU 1  [0:4, :]  summand 2 of 2\n"
                         "CPU 2  [4:8, :]  summand 1 of 2\n"
                         "CPU 3  [4:8, :]  summand 2 of 2\n"));
  }

  void an_empty_array_is_listed_too() {
    QCOMPARE(drawn({{"data", 2}}, {{"data"}}, {0}), std::string("(0,) PartitionSpec('data',)\nCPU 0,1  [:]\n"));
  }

  void columns_share_the_console_where_those_of_jax_would_cut_labels() {
    const QString text = QString::fromStdString(drawn({{"data", 2}}, {{}, {"data"}}, {16, 512}));
    QCOMPARE(text.section('\n', 0, 0), "┌" + QString(38, u'─') + "┬" + QString(38, u'─') + "┐");
    QVERIFY(text.contains("│" + QString(16, ' ') + "CPU 0" + QString(17, ' ') + "│"));
  }

  void labels_too_wide_for_any_column_are_listed() {
    const QString text = QString::fromStdString(drawn({{"data", 16}}, {{}, {"data"}}, {16, 16}));
    QVERIFY(text.startsWith("(16, 16) PartitionSpec(None, 'data')\nCPU 0   [:, 0:1]\n"));
    QVERIFY(text.endsWith("\nCPU 15  [:, 15:16]\n"));
  }

  void devices_that_do_not_hold_it_are_not_drawn() {
    const Mesh mesh({{"pipeline", 2}, {"data", 2}});
    const Sharding sharding = to_sharding({{{"data"}}}, mesh, 2);
    const std::string drawing = visualize_sharding(sharding, mesh, {4, 4}, {2, 3});
    QVERIFY(drawing.find("CPU 2") != std::string::npos && drawing.find("CPU 3") != std::string::npos);
    for (const char* other : {"CPU 0", "CPU 1"}) QVERIFY(drawing.find(other) == std::string::npos);
  }
};

REGISTER_TEST(VisualizeTest)

}  // namespace visualize_test

#include "visualize_test.moc"
