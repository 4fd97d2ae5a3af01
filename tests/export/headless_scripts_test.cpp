#include "engine/export/headless_scripts.h"

#include <QtTest>

#include "tests/test_program.h"

namespace headless_scripts_test {

using namespace shardscope;

class HeadlessScriptsTest : public QObject {
  Q_OBJECT

 private slots:
  // On the average of the ranks of a node, to all of which Slurm gives the same.
  void a_batch_job_asks_for_the_memory_of_its_checkpoints() {
    constexpr int64_t mebibyte = 1 << 20;
    HeadlessFacts facts;
    facts.ranks = 4;
    facts.rank_bytes = 100 * mebibyte;
    facts.threads_per_rank = 2;
    facts.checkpoint_bytes = {80 * mebibyte, 0, 0, 0};
    const auto asked = [&](std::vector<int> ranks_per_host, bool trains) {
      facts.ranks_per_host = std::move(ranks_per_host);
      facts.trains = trains;
      const QString script = QString::fromStdString(slurm_script(facts));
      return QRegularExpression("--mem-per-cpu=(\\d+)M").match(script).captured(1).toInt();
    };
    QCOMPARE(asked({4}, false), (100 + 256) / 2);
    QCOMPARE(asked({4}, true), (100 + 80 / 4 + 256) / 2);
    QCOMPARE(asked({}, true), (100 + 80 / 4 + 256) / 2);
    QCOMPARE(asked({2, 2}, true), (100 + 80 / 2 + 256) / 2);
  }
};

REGISTER_TEST(HeadlessScriptsTest)

}  // namespace headless_scripts_test
#include "headless_scripts_test.moc"
