#include <QtTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/parity/golden_training.h"
#include "tests/test_program.h"

namespace precision_parity_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QJsonArray golden() {
  QJsonArray cases = golden_file("precision").array();
  for (const QJsonValue& one : golden_file("expert_precision").array()) cases.append(one);
  return cases;
}

bool is_of_experts(const QJsonValue& one) { return one["model"] == "experts"; }

QString text_of(const QJsonValue& value) {
  if (value.isString()) return value.toString();
  return QJsonDocument(value.toObject()).toJson(QJsonDocument::Compact);
}

QString title(const QJsonValue& one) {
  return QString("%1%2 %3 in %4")
      .arg(is_of_experts(one) ? "experts " : "", text_of(one["precision"]), text_of(one["optimizer"]))
      .arg(one["microbatches"].toInt());
}

// bench/golden/expert_precision.py. On a mesh rows travel over both axes to experts that are split over model.
RunConfig run_of_experts(const std::string& precision, const std::vector<int64_t>& mesh) {
  const std::string layers = R"(["x = linear 16", "linear 4", "r = top_k 2 normalised", "dispatch r from x", )"
                             R"("expert_linear 24", "gated_silu", "expert_linear 16", "combine", "add x", "linear 5"])";
  RunConfig config = system_run("workshop_gpipe", {"model.layers=" + layers, "model.input=6", "pipeline.layers=[]",
                                                   "data.kind=normal", "data.batch_size=32", precision});
  config.mesh_axes = {{"data", mesh[0]}, {"model", mesh[1]}};
  config.pipeline = {};
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "model"}}};
  SpecRule rule;
  rule.placement = LogicalAxes{{{"experts", {"model"}}}};
  config.sharding.rules = {rule};
  return config;
}

// `mesh`: sizes of its axes data and model.
Plan plan_of(const QJsonValue& one, const std::vector<int64_t>& mesh, LayoutMode mode) {
  const std::string precision = "precision=" + text_of(one["precision"]).toStdString();
  RunConfig config = is_of_experts(one) ? run_of_experts(precision, mesh)
                                        : system_run("mintext_mlp",
                                                     {"model.din=6", "model.dmid=24", "model.dout=5",
                                                      "data.kind=normal", "data.batch_size=32", precision},
                                                     mesh);
  config.optimizer = {};
  const QJsonObject optimizer = one["optimizer"].toObject();
  for (const QString& key : optimizer.keys()) {
    const QJsonValue value = optimizer[key];
    if (key == "name") config.optimizer.name = value.toString().toStdString();
    else if (value.isBool()) config.optimizer.options.emplace_back(key.toStdString(), value.toBool());
    else config.optimizer.options.emplace_back(key.toStdString(), value.toDouble());
  }
  config.schedule.microbatches = one["microbatches"].toInt();
  config.sharding.mode = mode;
  return compile({config, reference_host()});
}

// The distance of arrays from those of a case, as a share of how far training moves it; the largest of all arrays.
double apart(const std::map<std::string, std::vector<float>>& found, const QJsonObject& expected,
             const std::string& prefix) {
  double most = 0;
  for (const QString& name : expected.keys()) {
    const auto at = found.find(prefix + name.toStdString());
    if (at == found.end()) return INFINITY;
    const QJsonArray values = expected[name].toArray();
    double difference = 0, size = 0;
    for (qsizetype i = 0; i < values.size(); ++i) {
      const double value = values[i].toDouble();
      difference += std::pow(at->second.at(static_cast<size_t>(i)) - value, 2);
      size += value * value;
    }
    most = std::max(most, std::sqrt(difference / size));
  }
  return most;
}

// Of parameters and all that the optimizer keeps.
double apart(const ThreadTraining& training, const QJsonValue& one) {
  double most = apart(training.parameters, one["parameters"].toObject(), "params/");
  const QJsonObject kept = one["kept"].toObject();
  for (const QString& name : kept.keys()) {
    most = std::max(most, apart(training.optimizer, kept[name].toObject(), name.toStdString() + "/params/"));
  }
  return most;
}

// Where all that is summed over steps is f32: else sums in another order round to another number of bf16.
bool is_exact(const QJsonValue& one) {
  if (one["precision"].isString()) return one["precision"] != "bf16";
  const QJsonObject types = one["precision"].toObject();
  return types["gradients"] != "bf16" && (types["parameters"] != "bf16" || types["master"] == "f32");
}

// How far one device may be from JAX. Experts have so many products that in some step a sum in another order rounds to
// another bf16.
double tolerance_of(const QJsonValue& one) {
  if (!is_exact(one)) return 5e-3;
  if (!is_of_experts(one)) return 1e-6;
  return one["precision"] == "f32" ? 1e-5 : 1e-4;
}

}  // namespace

// Law 7 for recipes of precision. The golden file is what JAX and Optax give where every cast is written out.
class PrecisionParityTest : public QObject {
  Q_OBJECT

  static void list_cases() {
    QTest::addColumn<int>("index");
    const QJsonArray cases = golden();
    for (qsizetype i = 0; i < cases.size(); ++i) QTest::newRow(qPrintable(title(cases[i]))) << static_cast<int>(i);
  }

 private slots:
  void a_recipe_has_the_numbers_of_jax_data() { list_cases(); }
  void a_recipe_has_the_numbers_of_jax() {
    QFETCH(int, index);
    const QJsonValue one = golden()[index];
    const ThreadTraining training =
        train_in_threads(plan_of(one, {1, 1}, LayoutMode::as_written), one["steps"].toInt());
    const double far = apart(training, one);
    QVERIFY2(far < tolerance_of(one), qPrintable(QString::number(far)));
    compare_losses(training, one["losses"].toArray(), {is_exact(one) ? 1e-5 : 5e-3});
  }

  // Each cast of a recipe shows: what it trains is nearer to its own numbers than to those of any other recipe.
  void no_other_recipe_has_these_numbers_data() { list_cases(); }
  void no_other_recipe_has_these_numbers() {
    QFETCH(int, index);
    const QJsonArray cases = golden();
    const QJsonValue one = cases[index];
    const ThreadTraining training =
        train_in_threads(plan_of(one, {1, 1}, LayoutMode::as_written), one["steps"].toInt());
    const double own = apart(training, one);
    for (qsizetype i = 0; i < cases.size(); ++i) {
      const auto differs = [&](const char* key) { return cases[i][key] != one[key]; };
      if (i == index || differs("model") || differs("optimizer") || differs("microbatches")) continue;
      const double other = apart(training, cases[i]);
      QVERIFY2(other > 4 * own + 1e-5,
               qPrintable(QString("%1 from its own, %2 from %3").arg(own).arg(other).arg(title(cases[i]))));
    }
  }

  // bf16 rounds parts and sums elsewhere on a mesh; no more than that, but that a token may choose another expert then.
  void on_meshes_a_recipe_stays_near_data() { list_cases(); }
  void on_meshes_a_recipe_stays_near() {
    QFETCH(int, index);
    const QJsonValue one = golden()[index];
    for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{2, 1}, {1, 2}, {2, 2}, {4, 2}}) {
      for (const LayoutMode mode : {LayoutMode::as_written, LayoutMode::fastest}) {
        const Plan plan = plan_of(one, mesh, mode);
        const ThreadTraining training = train_in_threads(plan, one["steps"].toInt());
        const double far = apart(training, one);
        const bool by_signs = one["optimizer"]["name"] == "lion";
        const double most = one["precision"] == "f32" ? 1e-5 : by_signs ? 0.1 : is_of_experts(one) ? 5e-2 : 2e-2;
        QVERIFY2(far < most, qPrintable(QString::number(far)));
        QVERIFY(training.replicas_equal);
        compare_with_prediction(training, plan);
      }
    }
  }
};

REGISTER_TEST(PrecisionParityTest)

}  // namespace precision_parity_test

#include "precision_test.moc"
