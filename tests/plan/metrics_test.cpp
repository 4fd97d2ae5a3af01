#include "engine/plan/metrics.h"

#include <QTest>
#include <cmath>
#include <limits>

#include "tests/test_program.h"

namespace metrics_test {

using namespace shardscope;

namespace {

std::vector<std::string> codes(const std::vector<std::string>& names) {
  std::vector<std::string> codes;
  for (const Error& error : check_metric_names(names)) codes.push_back(error.code);
  return codes;
}

}  // namespace

class MetricsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_metric_may_not_take_the_key_of_another_part_of_a_step() {
    for (const char* key : {"step", "step_ms", "ranks", "message", "metrics"}) {
      const std::vector<Error> errors = check_metric_names(std::vector<std::string>{"loss", key});
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("metric_name"));
      QVERIFY(errors[0].message.find(key) != std::string::npos);
    }
    QVERIFY(codes({"loss", "accuracy", "steps", "rank"}).empty());
    QVERIFY(codes({}).empty());
  }

  void names_are_reported_apart() {
    QCOMPARE(codes({"loss", "loss"}), std::vector<std::string>{"metric_name"});
    QCOMPARE(codes({""}), std::vector<std::string>{"metric_name"});
  }

  void more_than_a_record_holds_is_an_error() {
    std::vector<std::string> names;
    for (size_t i = 0; i < max_metrics; ++i) names.push_back("m" + std::to_string(i));
    QVERIFY(codes(names).empty());
    names.push_back("one more");
    QCOMPARE(codes(names), std::vector<std::string>{"metric_count"});
  }

  void a_value_is_found_by_its_name() {
    const std::vector<std::string> names = {"loss", "accuracy", "z_loss"};
    MetricNumbers numbers{};
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) + 0.5;
    const std::vector<MetricValue> values = with_names(names, numbers);
    QCOMPARE(values.size(), names.size());
    QCOMPARE(value_of(values, "loss"), 0.5);
    QCOMPARE(value_of(values, "z_loss"), 2.5);
    QVERIFY(std::isnan(value_of(values, "los")));
    QVERIFY(std::isnan(value_of({}, "loss")));
  }

  void only_what_is_evaluated_may_be_absent() {
    const double none = std::numeric_limits<double>::quiet_NaN();
    QVERIFY(is_absent({"val_loss", none}) && is_evaluated({"val_loss", none}));
    QVERIFY(!is_absent({"val_loss", 1}) && !is_absent({"loss", none}) && !is_evaluated({"loss", 1}));
  }
};

REGISTER_TEST(MetricsTest)

}  // namespace metrics_test

#include "metrics_test.moc"
