#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <latch>

#include "engine/compile/document_of.h"
#include "engine/config/parse.h"
#include "engine/mesh/device_count.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/own_settings.h"
#include "tests/gui/small_models.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace planner_test {

using namespace shardscope;

class PlannerTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { use_own_settings(); }

  void the_newest_request_is_the_one_delivered() {
    Planner planner(made::source());
    QSignalSpy delivered(&planner, &Planner::delivered);
    RunConfig config = made::config();
    for (int i = 0; i < 200; ++i) {
      config.mesh_axes[0].size = 1 << (i % 4);
      planner.request(config);
    }
    QTRY_VERIFY_WITH_TIMEOUT(!planner.is_busy(), patience);
    QVERIFY(document_of(*planner.plan()) == config);
    QVERIFY(delivered.count() >= 1);
    QVERIFY(planner.is_current());
  }

  void plans_are_made_for_the_hosts_of_the_run_file() {
    RunConfig config = load_run_config(SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json");
    const auto ranks_on_hosts = [&](const std::string& hosts) {
      config.hosts = hosts;
      return compiled_plans().plan(config, {}).ranks_per_host;
    };
    QVERIFY((ranks_on_hosts("") == std::vector<int>{8}));
    QVERIFY((ranks_on_hosts("a:5,b") == std::vector<int>{5, 3}));
    try {
      ranks_on_hosts("a:5,b:2");
      QFAIL("seven ranks for eight devices");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().front().place.path, std::string("hosts"));
    }
  }

  void a_mesh_of_more_devices_than_can_be_is_no_fault_of_the_hosts() {
    RunConfig config = load_run_config(SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json");
    config.hosts = "a:4";
    for (const size_t axes : {2, 3, 5}) {
      config.mesh_axes.clear();
      for (size_t i = 0; i < axes; ++i) config.mesh_axes.push_back({"axis" + std::to_string(i), 16384});
      QCOMPARE(device_count(config.mesh_axes), axes == 5 ? INT64_MAX : int64_t{1} << (14 * axes));
      try {
        compiled_plans().plan(config, {});
        QFAIL("a mesh of 2^28 devices");
      } catch (const Failure& failure) {
        const auto is_of_mesh = [](const Error& error) { return error.place.path.starts_with("mesh"); };
        QVERIFY(std::ranges::any_of(failure.errors(), is_of_mesh));
      }
    }
  }

  void a_plan_that_views_cannot_look_up_is_an_error_and_the_last_good_one_stays() {
    PlanSource source = made::source();
    source.plan = [](const RunConfig& config, std::stop_token stop) {
      Plan plan = made::plan(config, stop);
      if (config.steps == 2) plan.run_file = R"({"steps": "two"})";
      return plan;
    };
    Planner planner(source);
    RunConfig config = made::config();
    planner.request(config);
    QTRY_VERIFY_WITH_TIMEOUT(planner.is_current(), patience);
    const std::shared_ptr<const Plan> good = planner.plan();
    config.steps = 2;
    planner.request(config);
    QTRY_VERIFY_WITH_TIMEOUT(!planner.is_busy(), patience);
    QVERIFY(planner.plan() == good);
    QVERIFY(planner.shared_index());
    QVERIFY(std::ranges::any_of(planner.errors(), [](const Error& error) { return error.place.path == "steps"; }));
    QVERIFY(!planner.parameters().empty());
  }

  void parameters_are_the_same_with_and_without_a_plan_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("recipe");
    for (const char* preset : {"llama_tiny", "parallax_decoder", "nnx_gpt2"})
      for (const char* recipe : {"f32", "bf16", "bf16_mixed", "f16_mixed", "fp8_mixed"})
        QTest::addRow("%s %s", preset, recipe) << preset << recipe;
  }
  void parameters_are_the_same_with_and_without_a_plan() {
    QFETCH(QString, preset);
    QFETCH(QString, recipe);
    const bool is_gpt = preset == "nnx_gpt2";
    RunConfig config = is_gpt ? made::small_gpt(2, 2, 2) : load_preset(preset);
    config.precision.recipe = recipe.toStdString();
    const PlanSource source = compiled_plans();
    std::vector<ParameterInfo> planned;
    for (const ParameterPlan& parameter : source.plan(config, {}).parameters)
      planned.push_back({parameter.path, {parameter.shape, parameter.dtype}});
    std::vector<ParameterInfo> listed = source.parameters(config);
    std::ranges::sort(planned, {}, &ParameterInfo::path);
    std::ranges::sort(listed, {}, &ParameterInfo::path);
    QVERIFY(listed == planned);
  }

  void a_newer_request_cancels_the_running_one() {
    auto started = std::make_shared<std::latch>(1);
    auto cancelled = std::make_shared<std::atomic<int>>(0);
    PlanSource slow = made::source();
    slow.plan = [=](const RunConfig& config, std::stop_token stop) {
      if (config.steps == 1) {
        started->count_down();
        while (!stop.stop_requested()) std::this_thread::yield();
        ++*cancelled;
        throw Cancelled{};
      }
      return made::plan(config, stop);
    };
    Planner planner(slow);
    RunConfig config = made::config();
    config.steps = 1;
    planner.request(config);
    started->wait();
    config.steps = 2;
    planner.request(config);
    QTRY_VERIFY_WITH_TIMEOUT(!planner.is_busy(), patience);
    QCOMPARE(planner.plan()->training.steps, int64_t{2});
    QCOMPARE(cancelled->load(), 1);
  }

  void errors_keep_the_last_good_plan() {
    Planner planner(made::source());
    planner.request(made::config());
    QTRY_VERIFY_WITH_TIMEOUT(planner.is_current(), patience);
    const std::shared_ptr<const Plan> good = planner.plan();
    RunConfig bad = made::config();
    bad.mesh_axes[0].size = 3;
    planner.request(bad);
    QTRY_VERIFY_WITH_TIMEOUT(!planner.is_busy(), patience);
    QVERIFY(!planner.is_current());
    QVERIFY(!planner.errors().empty());
    QCOMPARE(planner.plan(), good);
    planner.request(made::config());
    QTRY_VERIFY_WITH_TIMEOUT(planner.is_current(), patience);
    QVERIFY(planner.errors().empty());
  }

  void every_parameter_is_found_by_its_path_in_the_newest_model_and_in_the_last_good_plan() {
    PlanSource growing = made::source();
    growing.parameters = [](const RunConfig&) {
      std::vector<ParameterInfo> parameters = made::parameters();
      parameters.insert(parameters.begin(), {{"params", "Dense_1", "bias"}, {{7}, DType::f32}});
      return parameters;
    };
    Planner planner(growing);
    QVERIFY(!planner.find_parameter({"params", "Dense_0", "bias"}) && !planner.find_planned({"params"}));
    RunConfig config = made::config();
    for (const int size : {4, 3}) {  // three devices: no plan, but a larger model
      config.mesh_axes[0].size = size;
      planner.request(config);
      QTRY_VERIFY_WITH_TIMEOUT(!planner.is_busy(), patience);
      QCOMPARE(planner.parameters().size(), made::parameters().size() + (size == 3));
      for (const ParameterInfo& info : planner.parameters()) QCOMPARE(planner.find_parameter(info.path), &info);
      for (const ParameterPlan& parameter : planner.plan()->parameters)
        QCOMPARE(planner.find_planned(parameter.path), &parameter);
      QVERIFY(!planner.find_planned({"params", "Dense_1", "bias"}));
      QVERIFY(!planner.find_parameter({"params", "Dense_0"}));
    }
  }

  void a_fault_of_the_program_is_an_error_too() {
    PlanSource faulty = made::source();
    faulty.plan = [](const RunConfig&, std::stop_token) -> Plan { throw std::runtime_error("out of luck"); };
    Planner planner(faulty);
    planner.request(made::config());
    QTRY_COMPARE_WITH_TIMEOUT(planner.errors().size(), size_t{1}, patience);
    QCOMPARE(planner.errors().front().message, std::string("out of luck"));
    QCOMPARE(planner.parameters().size(), made::parameters().size());
  }

  void ends_while_planning() {
    auto started = std::make_shared<std::latch>(1);
    PlanSource endless = made::source();
    endless.plan = [=](const RunConfig&, std::stop_token stop) -> Plan {
      started->count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      throw Cancelled{};
    };
    auto planner = std::make_unique<Planner>(endless);
    planner->request(made::config());
    started->wait();
    planner.reset();
    QVERIFY(!planner);
  }
};

REGISTER_WINDOW_TEST(PlannerTest)

}  // namespace planner_test

#include "planner_test.moc"
