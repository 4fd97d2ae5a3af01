#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "engine/compile/compile.h"
#include "engine/config/strategy.h"
#include "engine/machine/host_machine.h"
#include "tests/parity/golden_file.h"
#include "tests/test_program.h"

namespace family_strategies_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const std::vector<std::string> precisions = {"f32", "bf16_mixed", "fp8_mixed"};

StrategyConfig with(int64_t StrategyConfig::*degree) {
  StrategyConfig strategy;
  strategy.data = 2;
  strategy.*degree = 2;
  return strategy;
}

// Each kind of split, alone and beside replicas.
std::vector<StrategyConfig> strategies() {
  std::vector<StrategyConfig> all;
  for (const auto degree : {&StrategyConfig::fsdp, &StrategyConfig::tensor, &StrategyConfig::context,
                            &StrategyConfig::expert, &StrategyConfig::pipeline})
    all.push_back(with(degree));
  StrategyConfig sequence = with(&StrategyConfig::tensor);
  sequence.sequence_parallel = true;
  sequence.context = 2;
  sequence.recompute = "selective";
  all.push_back(sequence);
  return all;
}

}  // namespace

// What a search tries of a model of Hugging Face: each split in each precision. The configs are those of
// tests/golden/transformers_decoders.json, which differ in every option of their families.
class FamilyStrategiesTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  RunConfig run_of(const QJsonValue& decoder) {
    const std::string path = folder_.filePath("config.json").toStdString();
    std::ofstream(path) << QJsonDocument(decoder["config"].toObject()).toJson().toStdString();
    RunConfig config;
    config.model = {"huggingface", {{"path", path}}};
    config.data = {"synthetic_lm", {{"batch_size", int64_t{8}}, {"sequence_length", int64_t{12}}}};
    config.optimizer = {"adamw", {{"learning_rate", 1e-3}}};
    return config;
  }

 private slots:
  void every_split_plans_in_every_precision_data() {
    QTest::addColumn<QJsonValue>("decoder");
    for (const QJsonValue& decoder : golden_file("transformers_decoders").array())
      QTest::newRow(qPrintable(decoder["name"].toString())) << decoder;
  }

  // Refusals name a number of the strategy, such as experts that a model has not; the precision refuses nothing.
  void every_split_plans_in_every_precision() {
    QFETCH(QJsonValue, decoder);
    int planned = 0;
    for (const StrategyConfig& strategy : strategies()) {
      std::vector<std::string> refused;
      for (const std::string& precision : precisions) {
        RunConfig config = with_strategy(run_of(decoder), strategy);
        config.precision.recipe = precision;
        try {
          compile({config, reference_host()});
          ++planned;
        } catch (const Failure& failure) {
          const Place& place = failure.errors().front().place;
          QVERIFY2(place.path.starts_with("strategy"), failure.what());
          refused.push_back(precision);
        }
      }
      QVERIFY(refused.empty() || refused == precisions);
    }
    QVERIFY(planned >= static_cast<int>(2 * precisions.size()));
  }
};

REGISTER_TEST(FamilyStrategiesTest)

}  // namespace family_strategies_test

#include "family_strategies_test.moc"
