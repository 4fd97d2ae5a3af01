#include "viz/text/index_map.h"

#include <QTest>

#include "tests/mesh/golden_case.h"
#include "tests/test_program.h"

namespace index_map_test {

using namespace shardscope;

class IndexMapTest : public QObject {
  Q_OBJECT
 private slots:
  void index_maps_are_written_as_the_lines_of_the_golden_file() {
    QFile file(SHARDSCOPE_SOURCE_DIR "/tests/golden/index_maps.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    int cases = 0;
    for (QByteArray line : file.readAll().split('\n')) {
      line = line.trimmed();
      if (line.endsWith(',')) line.chop(1);
      if (!line.startsWith('{')) continue;
      const GoldenCase golden = golden_case(QJsonDocument::fromJson(line).object());
      const QByteArray expected = "{" + line.mid(line.indexOf("\"index_map\""));
      QCOMPARE(QByteArray::fromStdString(index_map_json(golden.sharding(), golden.mesh, golden.shape)), expected);
      ++cases;
    }
    QVERIFY(cases >= 250);
  }

  void a_scalar_has_no_ranges() {
    QCOMPARE(index_map_json(Sharding::replicated(0), Mesh({{"data", 2}}), {}),
             std::string(R"({"index_map": [[0, []], [1, []]], "shard_shape": [], "fully_replicated": true})"));
  }
};

REGISTER_TEST(IndexMapTest)

}  // namespace index_map_test

#include "index_map_test.moc"
