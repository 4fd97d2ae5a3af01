#include <QRegularExpression>
#include <cmath>

#include "tests/cli/program.h"

namespace system_ranks_test {

using namespace shardscope;

// The MinText document's MLP on eight real ranks, as a person runs it.
class SystemRanksTest : public QObject {
  Q_OBJECT

 private slots:
  void the_mlp_prints_its_layouts_and_the_losses_of_every_thousandth_step() {
    const ProgramResult result = shardrun({"train", preset("mintext_mlp"), "--steps", "2001"});
    QCOMPARE(result.code, 0);
    for (const char* caption : {"Parameter sharding: w1\n", "Parameter sharding: momentum of w1\n"}) {
      QVERIFY2(result.output.contains(caption), qPrintable(result.output));
    }
    QVERIFY2(result.errors.contains("'params/w2'"), qPrintable(result.errors));
    const QRegularExpression line("^Step (\\d+): Loss = (\\S+)$", QRegularExpression::MultilineOption);
    const std::vector<std::pair<int, double>> jax{
        {0, 7.0742058753967285}, {1000, 0.0618012435734272}, {2000, 0.048266176}};
    QRegularExpressionMatchIterator found = line.globalMatch(result.output);
    for (const auto& [step, loss] : jax) {
      QVERIFY(found.hasNext());
      const QRegularExpressionMatch match = found.next();
      QCOMPARE(match.captured(1).toInt(), step);
      QVERIFY2(std::abs(match.captured(2).toDouble() - loss) < 1e-3 * loss, qPrintable(match.captured(0)));
    }
    QVERIFY(!found.hasNext());
  }
};

REGISTER_PROGRAM_TEST(SystemRanksTest)

}  // namespace system_ranks_test

#include "system_ranks_test.moc"
