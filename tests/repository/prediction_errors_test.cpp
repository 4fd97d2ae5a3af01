#include <QProcess>
#include <QStandardPaths>
#include <QTest>

#include "tests/test_program.h"

namespace prediction_errors_test {

// The arithmetic of bench/prediction (bench/prediction_errors.py).
class PredictionErrorsTest : public QObject {
  Q_OBJECT

  // What Python prints of expressions over the module's functions, with commas between them.
  static QString value(const QString& expressions) {
    QProcess python;
    python.setWorkingDirectory(SHARDSCOPE_SOURCE_DIR "/bench");
    const QString program =
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '.')\n"
        "from prediction_errors import *\n"
        "def case(predicted, measured, families=()):\n"
        "    return {'predicted': predicted, 'measured': measured, 'families': families}\n"
        "print(%1)";
    python.start("python3", {"-c", program.arg(expressions)});
    if (!python.waitForFinished() || python.exitCode() != 0) return python.readAllStandardError();
    return QString::fromUtf8(python.readAllStandardOutput()).trimmed();
  }

 private slots:
  void initTestCase() {
    if (QStandardPaths::findExecutable("python3").isEmpty()) QSKIP("python3 is not installed");
  }

  void a_prediction_that_is_too_fast_has_an_error_below_zero() {
    QCOMPARE(value("error(case([1, 3], [2, 4])), error(case([3, 3], [2, 2]))"), QString("-0.375 0.5"));
  }

  void cases_that_differ_by_less_than_a_repeat_are_not_ranked() {
    const QString correlation =
        "rank_correlation([case([1, 1], [1, 1]), case([2, 2], [3, 3]), case([%1, %1], [3.5, %2])]), ";
    QCOMPARE(value(correlation.arg("3", "3.7") + correlation.arg("1.5", "3.7") + correlation.arg("1.5", "4.5") +
                   "rank_correlation([])"),
             QString("(1.0, 3) (0.3333333333333333, 3) (1.0, 2) (None, 0)"));
  }

  void the_families_of_a_step_and_its_waiting_are_all_of_it() {
    const QString rows =
        "[{'stage': '0', 'rank': rank, 'work': work, 'arrive_seconds': arrive,"
        " 'start_seconds': start, 'end_seconds': end} for rank, work, arrive, start, end in ["
        "('', 'matrix products', 0, 0, 2), ('', 'all-gather', 2, 2, 3),"
        "('0', 'matrix products', 1, 1, 4), ('0', 'all-gather', 5, 6, 7),"
        "('1', 'matrix products', 1, 1, 6), ('1', 'all-gather', 6, 6, 7)]]";
    QCOMPARE(value("family_seconds(" + rows + ")"),
             QString("{'matrix products': (2.0, 4.0), 'all-gather': (1.0, 1.0), 'waiting, gaps': (0.0, 1.0)}"));
  }

  void what_the_families_add_is_the_error_of_a_step() {
    const QString cases = "[case([2, 8], [4, 8], [{'a': (1, 2), 'b': (1, 2)}, {'a': (2, 4), 'b': (6, 4)}])]";
    QCOMPARE(value("family_errors(" + cases + "), error(" + cases + "[0])"),
             QString("[('a', 0.5, -0.5, -0.25), ('b', 0.5, 0.0, 0.0)] -0.25"));
  }

  void the_presets_own_mesh_comes_first_unless_it_is_too_large() {
    QCOMPARE(value("candidate_meshes((4, 2), 8)[:5], candidate_meshes((2, 4, 2), 8)[0], "
                   "{math.prod(mesh) for mesh in candidate_meshes((1, 3), 8)}"),
             QString("[(4, 2), (2, 4), (1, 1), (1, 2), (2, 2)] (2, 2, 2) {1, 2, 3, 4, 8}"));
  }
};

REGISTER_CORE_TEST(PredictionErrorsTest)

}  // namespace prediction_errors_test

#include "prediction_errors_test.moc"
