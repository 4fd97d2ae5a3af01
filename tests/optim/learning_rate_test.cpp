#include "engine/optim/learning_rate.h"

#include <QTest>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/test_program.h"

namespace learning_rate_test {

using namespace shardscope;
using Json = nlohmann::json;

namespace {

OptionList resolved(const OptionList& given) {
  std::vector<Error> errors;
  const OptionList options = resolve_options(learning_rate_options(1e-3), given, "optimizer", errors);
  if (!errors.empty()) throw Failure(errors);
  return options;
}

OptionList options_of(const Json& json) {
  OptionList options;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) options.emplace_back(name, value.get<std::string>());
    if (value.is_number_integer()) options.emplace_back(name, value.get<int64_t>());
    if (value.is_number_float()) options.emplace_back(name, value.get<double>());
  }
  return options;
}

std::string faults(const OptionList& given) {
  std::string text;
  for (const Error& error : check_learning_rate(resolved(given)))
    text += error.code + " at " + to_string(error.place) + "\n";
  return text;
}

}  // namespace

class LearningRateTest : public QObject {
  Q_OBJECT

 private slots:
  void every_schedule_is_that_of_optax() {
    std::set<std::string> tried;
    for (const Json& one : Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/schedules.json"))) {
      const OptionList options = resolved(options_of(one["options"]));
      QCOMPARE(faults(options), std::string());
      tried.insert(string_option(options, "schedule"));
      const Schedule schedule = learning_rate(options);
      for (size_t i = 0; i < one["counts"].size(); ++i) {
        const double expected = one["values"][i], got = schedule.at(one["counts"][i]);
        QVERIFY2(std::abs(got - expected) <= 1e-5 * std::abs(expected) + 1e-9,
                 qPrintable(QString("%1 at %2: %3, Optax %4")
                                .arg(to_string(schedule).c_str())
                                .arg(one["counts"][i].get<int>())
                                .arg(got)
                                .arg(expected)));
      }
    }
    QCOMPARE(tried.size(), schedule_names().size());
  }

  void a_number_is_a_schedule_that_never_changes() {
    const Schedule constant(0.25);
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{1} << 40}) QCOMPARE(constant.at(count), 0.25);
    QCOMPARE(to_string(constant), std::string("0.25"));
  }

  void a_schedule_without_its_steps_is_an_error_at_the_option_that_lacks_them() {
    const std::pair<std::string, OptionValue> rate{"learning_rate", 0.1};
    const auto of = [&](const char* schedule, OptionList more = {}) {
      more.push_back(rate);
      more.emplace_back("schedule", std::string(schedule));
      return faults(more);
    };
    QCOMPARE(of("constant"), std::string());
    QCOMPARE(of("linear"), std::string("out_of_range at optimizer.transition_steps\n"));
    QCOMPARE(of("cosine_decay"), std::string("out_of_range at optimizer.decay_steps\n"));
    QCOMPARE(of("warmup_constant"), std::string("out_of_range at optimizer.warmup_steps\n"));
    QCOMPARE(of("warmup_cosine_decay"), std::string("out_of_range at optimizer.decay_steps\n"));
    const OptionList warm{{"warmup_steps", int64_t{10}}, {"decay_steps", int64_t{10}}};
    QCOMPARE(of("warmup_cosine_decay", warm), std::string("out_of_range at optimizer.decay_steps\n"));
    QCOMPARE(of("warmup_constant", warm), std::string());
  }

  void a_schedule_that_nobody_knows_is_reported_with_a_near_one() {
    try {
      resolved({{"learning_rate", 0.1}, {"schedule", std::string("cosine_decey")}});
      QFAIL("accepted");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors()[0].code, std::string("unknown_choice"));
      QVERIFY(failure.errors()[0].hint.find("'cosine_decay'") != std::string::npos);
    }
  }

  void options_of_other_schedules_are_reported_to_say_nothing() {
    const OptionList options = resolved({{"learning_rate", 0.1},
                                         {"schedule", std::string("warmup_constant")},
                                         {"warmup_steps", int64_t{5}},
                                         {"decay_steps", int64_t{9}},
                                         {"exponent", 1.0}});
    const std::vector<Error> unused = unused_schedule_options(options);
    QCOMPARE(unused.size(), size_t{1});
    QCOMPARE(to_string(unused[0]),
             std::string("optimizer.decay_steps: schedule warmup_constant takes no decay_steps (it takes init_value, "
                         "warmup_steps)"));
  }
};

REGISTER_TEST(LearningRateTest)

}  // namespace learning_rate_test

#include "learning_rate_test.moc"
