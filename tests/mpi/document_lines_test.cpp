#include <QRegularExpression>
#include <cmath>

#include "tests/cli/program.h"

namespace document_lines_test {

using namespace shardscope;

// Law 7 as a person sees it: what `shardrun train` prints on real MPI ranks is what the documents print.
class DocumentLinesTest : public QObject {
  Q_OBJECT

 private slots:
  void tiny_lm_prints_the_lines_of_the_document() {
    const ProgramResult result = shardrun({"train", preset("tiny_lm_fsdp"), "--set", "mesh.data=2"});
    QCOMPARE(result.code, 0);
    const QRegularExpression line("^\\[jax-dp\\] step (\\d{4})  loss (\\d\\.\\d{4})$");
    const QList<std::pair<int, double>> document{{0, 6.7112},  {10, 6.3130}, {20, 6.2615},
                                                 {30, 6.2571}, {40, 6.2508}, {49, 6.2567}};
    const QStringList lines = result.output.split('\n').filter("jax-dp");
    QCOMPARE(lines.size(), document.size());
    for (qsizetype i = 0; i < lines.size(); ++i) {
      const QRegularExpressionMatch match = line.match(lines[i]);
      QVERIFY2(match.hasMatch(), qPrintable(lines[i]));
      QCOMPARE(match.captured(1).toInt(), document[i].first);
      QVERIFY2(std::abs(match.captured(2).toDouble() - document[i].second) < 1.5e-4, qPrintable(lines[i]));
    }
  }
};

REGISTER_PROGRAM_TEST(DocumentLinesTest)

}  // namespace document_lines_test

#include "document_lines_test.moc"
