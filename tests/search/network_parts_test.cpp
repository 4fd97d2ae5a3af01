#include "engine/search/network_parts.h"

#include <QTest>

#include "engine/compile/layer_count.h"
#include "engine/compile/training_graph.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace network_parts_test {

using namespace shardscope;
using namespace shardscope::test;

class NetworkPartsTest : public QObject {
  Q_OBJECT

 private slots:
  void tied_embeddings_are_read_by_several_parts_data() {
    QTest::addColumn<std::string>("preset");
    for (const char* preset : {"llama_tiny", "qwen3_tiny", "mixtral_tiny", "deepseek_v3_tiny", "gemma3_tiny"})
      QTest::newRow(preset) << std::string(preset);
  }
  void tied_embeddings_are_read_by_several_parts() {
    QFETCH(std::string, preset);
    for (const bool tied : {false, true}) {
      const RunConfig config =
          system_run(preset, {std::string("model.overrides.tie_word_embeddings=") + (tied ? "true" : "false")}, {1, 1});
      const ForwardGraph forward = build_forward(config);
      QVERIFY(forward.graph);
      QCOMPARE(shares_parameters(*forward.graph, static_cast<int>(layer_count(config))), tied);
    }
  }
};

REGISTER_TEST(NetworkPartsTest)

}  // namespace network_parts_test

#include "network_parts_test.moc"
