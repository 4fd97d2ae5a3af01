#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QTest>
#include <algorithm>

#include "tests/test_program.h"

namespace plurals_test {

// A number before a plural noun in a message is wrong where the number is 1: counted() of engine/base/plural.h says
// both. Left alone are limits ("at most {} axes") and numbers that are never 1, which are listed here.
class PluralsTest : public QObject {
  Q_OBJECT

 private slots:
  void no_message_counts_one_of_several() {
    QProcess git;
    git.setWorkingDirectory(SHARDSCOPE_SOURCE_DIR);
    git.start("git", {"ls-files", "engine/*.cpp", "engine/*.h", "gui/*.cpp", "viz/*.cpp", "models/*.cpp"});
    QVERIFY2(git.waitForFinished() && git.exitCode() == 0, "git lists the sources");
    const QStringList sources = QString::fromUtf8(git.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts);
    QVERIFY(sources.size() > 300);
    static const QRegularExpression counting(
        "(?<!at most )(?<!at least )(?<!more than )(?<!first )(\\{\\}|%\\d|%n) "
        "(steps|devices|ranks|rows|hosts|stages|microbatch(es|\\(es\\))|layers|arrays|lines|plans|collectives|"
        "parameters|"
        "restarts|tokens|cores|pieces|checkpoints|changes|problems|mesh(es)?|instructions|chunks|files)\\b");
    static const QRegularExpression of_several("== 1 \\?|> 1\\)|> 1 \\?|< 2 \\?|<= 12 \\?");
    const QStringList several = {
        "the mean of {} stages",                 // engine/lint/rules/stage_imbalance.cpp: of a pipeline
        "{} ranks ({} ...)",                     // engine/session/rank_words.cpp: more than are listed
        "{} arrays differ",                      // engine/worker/import_parameters.cpp: more than are listed
        "a message of {} arrays",                // engine/comm/channel_end.cpp: above the limit
        "started while {} collectives of",       // engine/comm/collective_communicator.cpp: as many as may be open
        "fmt::format(\"{} layers\"",             // models/layer_list.cpp: above the limit
        "There are %1 meshes, of which",         // gui/compare/sweep_tab.cpp: more than are planned
        "%1 lines\").arg(lines)",                // gui/document/spec_line.cpp: of one line its place is said
        "%1 microbatches \\u00d7 %2",            // gui/pages/collectives_model.cpp: not of one
        "Make axis %1 the pipeline: %2 stages",  // gui/pages/pipeline_page.cpp: axes of 2 and more
        "of %2 for %3 arrays in one go",         // gui/panels/inspector_panel.cpp: of a bucket
        "one of %1 arrays that move in one go",  // gui/pages/replay_view.cpp: likewise
    };
    QStringList found;
    for (const QString& source : sources) {
      QFile file(QString(SHARDSCOPE_SOURCE_DIR "/") + source);
      QVERIFY(file.open(QIODevice::ReadOnly));
      int number = 0;
      for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
        ++number;
        if (!line.contains('"') || !counting.match(line).hasMatch()) continue;
        const bool is_known = std::ranges::any_of(several, [&](const QString& words) { return line.contains(words); });
        if (!is_known && !of_several.match(line).hasMatch())
          found << QString("%1:%2: %3").arg(source).arg(number).arg(line.trimmed());
      }
    }
    QVERIFY2(found.isEmpty(), qPrintable("counted() says it right:\n" + found.join('\n')));
  }
};

REGISTER_TEST(PluralsTest)

}  // namespace plurals_test

#include "plurals_test.moc"
