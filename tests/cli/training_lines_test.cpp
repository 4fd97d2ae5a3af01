#include "engine/cli/training_lines.h"

#include <QTest>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/session/step_line.h"
#include "models/registry.h"
#include "tests/test_program.h"

namespace training_lines_test {

using namespace shardscope;
using Json = nlohmann::ordered_json;

namespace {

StepMessage step_of(std::vector<MetricValue> metrics) {
  return {3,
          std::move(metrics),
          12.5,
          {{0, 100, 200, 250, 300, 350, 400, 500, {}, {}, {}},
           {1, 101, 201, 251, 301, 351, 401, 501, {1, 2, 3}, {1, 1, 1}, {4, 5, 6}}}};
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

}  // namespace

class TrainingLinesTest : public QObject {
  Q_OBJECT

 private slots:
  void a_json_line_has_the_keys_that_scripts_rely_on_and_each_metric_under_its_own() {
    std::vector<MetricValue> metrics;
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, max_metrics}) {
      while (metrics.size() < count) {
        const size_t i = metrics.size();
        metrics.push_back({i == 0 ? "loss" : i == 1 ? "accuracy" : "z" + std::to_string(i) + "_loss", 0.5 * i});
      }
      const Json json = Json::parse(json_line(step_of(metrics)));
      std::vector<std::string> expected = {"step"};
      for (const MetricValue& metric : metrics) {
        expected.push_back(metric.name);
        QCOMPARE(json.at(metric.name).get<double>(), metric.value);
      }
      expected.insert(expected.end(), {"step_ms", "ranks"});
      QCOMPARE(keys(json), expected);
      QCOMPARE(json["step"].get<int>(), 3);
      QCOMPARE(json["ranks"].size(), size_t{2});
      QCOMPARE(
          json["ranks"][1].dump(),
          std::string(R"({"rank":1,"arena_bytes":101,"heap_bytes":201,"outside_bytes":251,"wire_bytes_sent":301.0,)"
                      R"("moved_bytes":351,"parameter_bytes":401,"optimizer_bytes":501,"busy_ms":[1.0,2.0,3.0,0.0],)"
                      R"("cpu_ms":[1.0,1.0,1.0,0.0],"wait_ms":[4.0,5.0,6.0,0.0]})"));
    }
  }

  void a_metric_that_is_no_number_is_null() {
    const StepMessage step = step_of({{"loss", std::numeric_limits<double>::quiet_NaN()}});
    QVERIFY(Json::parse(json_line(step)).at("loss").is_null());
  }

  void a_line_for_a_person_names_every_metric() {
    QCOMPARE(metrics_line(step_of({{"loss", 7.56719}, {"accuracy", 0.00123}})),
             std::string("Step 3: Loss = 7.5672, Accuracy = 0.12%\n"));
    QCOMPARE(metrics_line(step_of({{"loss", 1}, {"z_loss", 0.25}, {"top5_accuracy", 0.5}})),
             std::string("Step 3: Loss = 1.0000, Z loss = 0.2500, Top5 accuracy = 50.00%\n"));
    QCOMPARE(metrics_line(step_of({})), std::string("Step 3:\n"));
  }

  void an_evaluation_is_reported_where_there_was_one() {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const StepMessage with = step_of({{"loss", 1}, {"val_loss", 2}, {"learning_rate", 3e-5}});
    const StepMessage without = step_of({{"loss", 1}, {"val_loss", none}, {"learning_rate", 3e-5}});
    QCOMPARE(metrics_line(with), std::string("Step 3: Loss = 1.0000, Val loss = 2.0000, Learning rate = 3e-05\n"));
    QCOMPARE(metrics_line(without), std::string("Step 3: Loss = 1.0000, Learning rate = 3e-05\n"));
    QVERIFY(json_line(with).find("\"val_loss\":2.0") != std::string::npos);
    QVERIFY(json_line(without).find("val_loss") == std::string::npos);
    // In the original's words there is none.
    const ProgressLines lines{"{step} {loss}", 5, false, ""};
    QCOMPARE(ProgressText(lines, 9).after(with), std::string("Step 3: Val loss = 2.0000\n"));
    QCOMPARE(ProgressText(lines, 9).after(without), std::string());
  }

  void the_steps_that_the_original_tells_of_are_reported_in_its_words() {
    StepMessage message = step_of({{"loss", 0.1f}});
    std::string text;
    ProgressText progress({"Step {number}, at {step:04}: {loss}", 4, true, "Mean {seconds:.4f} s"}, 7);
    for (message.step = 0; message.step < 7; ++message.step) {
      message.step_ms = message.step == 0 ? 1e9 : 100;
      text += progress.after(message);
    }
    QCOMPARE(text, std::string("Step 1, at 0000: 0.1\nStep 5, at 0004: 0.1\nStep 7, at 0006: 0.1\nMean 0.1000 s\n"));
    message.step = 3;
    QCOMPARE(ProgressText({}, 7).after(message), metrics_line(message));
    QCOMPARE(ProgressText({"{step}", 2, false, ""}, 4).after(message), std::string());
    // The Parallax document alone calls its steps epochs.
    for (const ModelDefinition& model : all_models()) {
      const std::string line = ProgressText(model.progress, 7).after(step_of({{"loss", 1}}));
      QCOMPARE(line.starts_with("Epoch 3: "), model.name == "decoder_only_transformer");
    }
  }

  void the_mean_of_a_resumed_run_is_that_of_its_own_steps() {
    StepMessage message = step_of({});
    const ProgressLines lines{"{step}", 100, false, "Mean {seconds:.4f} s"};
    ProgressText resumed(lines, 1000);
    std::string text;
    for (message.step = 995; message.step < 1000; ++message.step) {
      message.step_ms = message.step == 995 ? 1e9 : 100;
      text += resumed.after(message);
    }
    QCOMPARE(text, std::string("Mean 0.1000 s\n"));
    message.step = 999;
    QCOMPARE(ProgressText(lines, 1000).after(message), std::string());
  }
};

REGISTER_TEST(TrainingLinesTest)

}  // namespace training_lines_test

#include "training_lines_test.moc"
