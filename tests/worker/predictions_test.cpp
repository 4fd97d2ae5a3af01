#include "engine/worker/predictions.h"
#include "engine/compile/example_plan.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace predictions_test {

using namespace shardscope;
using namespace shardscope::test;

// What a trained model makes of the examples of its data.
class PredictionsTest : public QObject {
  Q_OBJECT

 private slots:
  // relu(x w1 + b1) w2 of the gathered parameters, whatever mesh they were trained on.
  void they_are_the_forward_pass_of_the_gathered_parameters() {
    for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{1, 1}, {2, 4}, {8, 1}}) {
      RunConfig config = system_run("mintext_mlp", {}, mesh);
      config.sharding.rules.push_back(
          {"optimizer/momentum/params/w2", PartitionSpec{{{"data"}}}, {SpecKind::optimizer_state}});
      QTemporaryDir folder;
      const std::string path = folder.filePath("parameters").toStdString();
      std::ofstream(path).close();
      const Plan plan = compile({config, reference_host()});
      const ThreadTraining trained = train_in_threads(plan, 40, {}, {}, path);
      const Predictions columns = predict(example_plan(plan.run_file, reference_host()), path);
      QCOMPARE(columns.size(), size_t{3});
      QCOMPARE(columns[0].name + " " + columns[1].name + " " + columns[2].name,
               std::string("inputs targets predictions"));
      const auto& w1 = trained.parameters.at("params/w1");
      const auto& b1 = trained.parameters.at("params/b1");
      const auto& w2 = trained.parameters.at("params/w2");
      for (const ExampleColumn& column : columns) QCOMPARE(column.values.size(), size_t{100});
      for (size_t i = 0; i < 100; ++i) {
        const double x = columns[0].values[i];
        QVERIFY(std::abs(x - (-2 + 4.0 * static_cast<double>(i) / 99)) < 1e-6);
        QVERIFY(std::abs(columns[1].values[i] - (0.8 * x * x + 0.1)) < 0.5);
        double expected = 0;
        for (size_t unit = 0; unit < w1.size(); ++unit) expected += std::max(0.0, x * w1[unit] + b1[unit]) * w2[unit];
        QVERIFY(std::abs(columns[2].values[i] - expected) < 1e-5);
      }
    }
  }

  void each_example_is_a_json_object() {
    const Predictions columns{{"inputs", 2, {1, 2, 3, 4}}, {"predictions", 1, {0.5, -1}}};
    QCOMPARE(json_lines(columns), std::string("{\"inputs\":[1.0,2.0],\"predictions\":[0.5]}\n"
                                              "{\"inputs\":[3.0,4.0],\"predictions\":[-1.0]}\n"));
  }

  void data_without_an_end_have_none() {
    try {
      check_predictions(compile({system_run("tiny_lm_dp", {}), reference_host()}).training.data);
      QFAIL("accepted");
    } catch (const Failure& failure) {
      QCOMPARE(to_string(failure.errors().front().place), std::string("data.kind"));
      QVERIFY(failure.errors().front().hint.ends_with("quadratic"));
    }
  }

  void a_file_that_does_not_hold_the_parameters_is_named() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("short").toStdString();
    std::ofstream(path) << "short";
    try {
      predict(example_plan(write_run_config(system_run("mintext_mlp", {})), reference_host()), path);
      QFAIL("read");
    } catch (const Failure& failure) {
      QCOMPARE(to_string(failure.errors().front().place), path);
    }
  }
};

REGISTER_TEST(PredictionsTest)

}  // namespace predictions_test

#include "predictions_test.moc"
