#include <QtTest>
#include <array>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/training_agreement.h"
#include "tests/test_program.h"

namespace validation_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int64_t steps = 6;

RunConfig small_run(std::vector<std::string> more, const std::vector<int64_t>& mesh = {1, 1}) {
  std::vector<std::string> settings = system_preset("tiny_text").small;
  std::ranges::move(more, std::back_inserter(settings));
  return system_run("tiny_text", settings, mesh);
}

ThreadTraining trained(const RunConfig& config) { return train_in_threads(compile({config, reference_host()}), steps); }

double metric(const ThreadTraining& training, size_t step, const char* name) {
  return value_of(training.steps[step].metrics, name);
}

}  // namespace

class ValidationTest : public QObject {
  Q_OBJECT

 private slots:
  void evaluating_between_steps_changes_no_bit_of_them() {
    for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{1, 1}, {2, 2}}) {
      const ThreadTraining without = trained(small_run({"data.evaluate_every=0"}, mesh));
      const ThreadTraining with = trained(small_run({"data.evaluate_every=1", "data.evaluate_batches=3"}, mesh));
      QVERIFY(with.parameters == without.parameters);
      QVERIFY(with.optimizer == without.optimizer);
      for (size_t step = 0; step < steps; ++step) QCOMPARE(metric(with, step, "loss"), metric(without, step, "loss"));
    }
  }

  void only_every_nth_step_is_followed_by_an_evaluation() {
    const ThreadTraining training = trained(small_run({"data.evaluate_every=3"}));
    for (size_t step = 0; step < steps; ++step) {
      for (const char* name : {"val_loss", "val_accuracy"}) {
        QCOMPARE(std::isfinite(metric(training, step, name)), step % 3 == 2);
      }
    }
    QVERIFY(metric(training, 5, "val_loss") != metric(training, 2, "val_loss"));
    const ThreadTraining never = trained(small_run({"data.evaluate_every=0"}));
    QCOMPARE(never.steps[0].metrics.size() + 2, training.steps[0].metrics.size());
  }

  // Nothing is learned here. Examples are numbered: two batches of 16 have those of one of 32, whose loss is the mean.
  void an_evaluation_is_the_mean_over_its_batches() {
    const auto evaluated = [](int size, int batches) {
      const RunConfig config = small_run({"data.evaluate_every=1", "data.batch_size=" + std::to_string(size),
                                          "data.evaluate_batches=" + std::to_string(batches),
                                          "optimizer.learning_rate=0.0", "optimizer.end_value=0.0"});
      const ThreadTraining training = train_in_threads(compile({config, reference_host()}), 1);
      return std::array{metric(training, 0, "val_loss"), metric(training, 0, "val_accuracy")};
    };
    for (const int batches : {2, 4}) {
      const auto each = evaluated(16, batches), together = evaluated(16 * batches, 1), first = evaluated(16, 1);
      for (size_t i = 0; i < each.size(); ++i) QVERIFY(std::abs(each[i] - together[i]) <= 1e-6 * together[i]);
      QVERIFY(std::abs(each[0] - first[0]) > 1e-4 * first[0]);
    }
  }

  void every_mesh_evaluates_alike() {
    const std::vector<std::string> often{"data.evaluate_every=2"};
    const ThreadTraining alone = trained(small_run(often));
    for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{2, 1}, {2, 2}, {1, 4}, {8, 1}}) {
      const ThreadTraining parallel = trained(small_run(often, mesh));
      for (size_t step : {1, 3, 5}) {
        const double expected = metric(alone, step, "val_loss");
        QVERIFY(std::abs(metric(parallel, step, "val_loss") - expected) <= 2e-5 * expected);
      }
    }
  }

  void training_on_text_learns_what_is_kept_back_too() {
    RunConfig config = small_run({"data.evaluate_every=30", "optimizer.warmup_steps=5", "deterministic=true"});
    const ThreadTraining training = train_in_threads(compile({config, reference_host()}), 60);
    QVERIFY(metric(training, 59, "val_loss") < metric(training, 29, "val_loss"));
    QVERIFY(metric(training, 29, "val_loss") < metric(training, 0, "loss") - 0.5);
  }
};

REGISTER_TEST(ValidationTest)

}  // namespace validation_test

#include "validation_test.moc"
