#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>
#include <QTreeView>
#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "gui/look/appearance.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace deep_model_test {

using namespace shardscope;

// A window on deep models: it waits for nothing, does what a change asks for, and lets go.
class DeepModelTest : public QObject {
  Q_OBJECT

  static int64_t layers_of(const RunConfig& config) { return std::get<int64_t>(*config.model.find("num_layers")); }

  static RunConfig deep_config(int64_t layers) {
    RunConfig config = made::config();
    config.model.options.emplace_back("num_layers", layers);
    return config;
  }

  static std::vector<ParameterInfo> layer_parameters(const RunConfig& config) {
    std::vector<ParameterInfo> all = made::parameters();
    for (int64_t layer = 0; layer < layers_of(config); ++layer)
      for (const char* name : {"key", "query", "value", "out"})
        for (const char* part : {"bias", "kernel"})
          all.push_back({{"params", "Block_" + std::to_string(layer), name, part}, {{64, 64}, DType::f32}});
    return all;
  }

  // The made plan with the parameters of so many layers; the added ones are not part of its program.
  static PlanSource deep_source() {
    return {[](const RunConfig& config, std::stop_token stop) {
              Plan plan = made::plan(config, stop);
              const ParameterPlan like = plan.parameters.front();
              for (const ParameterInfo& info : layer_parameters(config)) {
                if (!info.path[1].starts_with("Block_")) continue;
                ParameterPlan& parameter = plan.parameters.emplace_back(like);
                parameter.path = info.path;
                parameter.shape = info.type.shape;
                parameter.spec = spec_of(config, ParameterRef{info.path});
                parameter.sharding = to_sharding(parameter.spec, plan.mesh, 2);
              }
              return plan;
            },
            layer_parameters};
  }

  struct Changes {
    explicit Changes(QAbstractItemModel& model)
        : data(&model, &QAbstractItemModel::dataChanged),
          inserted(&model, &QAbstractItemModel::rowsInserted),
          removed(&model, &QAbstractItemModel::rowsRemoved),
          reset(&model, &QAbstractItemModel::modelReset) {}
    QSignalSpy data, inserted, removed, reset;
  };

  static void settle(MainWindow& window) {
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
    window.grab();
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    apply_theme(*qApp, ThemeChoice::light);
  }

  void no_turn_waits_for_planning() {
    std::latch released(1);
    std::mutex mutex;
    std::set<std::thread::id> planners;
    std::atomic<bool> blocks = false;
    PlanSource slow = made::source();
    const auto note = [&] {
      const std::lock_guard lock(mutex);
      planners.insert(std::this_thread::get_id());
    };
    slow.plan = [&](const RunConfig& config, std::stop_token stop) {
      note();
      if (blocks) released.wait();  // deaf to cancelling, too
      return made::plan(config, stop);
    };
    slow.parameters = [&](const RunConfig&) {
      note();
      return made::parameters();
    };
    MainWindow window(slow, "/nowhere/shardrun");
    window.show();
    window.workspace().document.reset(made::config(), {});
    settle(window);
    const std::shared_ptr<const Plan> shown = window.workspace().planner.plan();
    blocks = true;
    // Each of these would hang here if it waited.
    Document& document = window.workspace().document;
    for (const int size : {2, 1, 4, 2}) {
      set_axis_size(document, 0, size);
      for (const char* page : {"flow", "memory", "collectives", "timeline", "layout"}) {
        QVERIFY(window.show_page(page));
        QCoreApplication::processEvents();
        window.grab();
      }
      set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"model"});
      document.undo_stack().undo();
      QCoreApplication::processEvents();
      QVERIFY(window.workspace().planner.is_busy());
      QCOMPARE(window.workspace().planner.plan(), shown);
      QVERIFY(window.verdict()->text().startsWith("planning"));
    }
    released.count_down();
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current() && window.is_settled(), patience);
    QCOMPARE(window.workspace().planner.plan()->mesh.axis_size(0), int64_t{2});
    QVERIFY(!planners.contains(std::this_thread::get_id()));
  }

  void an_edit_announces_what_it_changed_however_deep_the_model_is() {
    for (const int64_t layers : {2, 40, 300}) {
      MainWindow window(deep_source(), "/nowhere/shardrun");
      window.show();
      Document& document = window.workspace().document;
      document.reset(deep_config(layers), {});
      settle(window);
      QAbstractItemModel& model = *window.findChild<QTreeView*>("parameterTree")->model();
      const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
      settle(window);

      Changes spec(model);
      set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"model"});
      settle(window);
      QVERIFY(spec.data.count() >= 1);
      QVERIFY2(spec.data.count() <= 4, qPrintable(QString("%1 of %2 layers").arg(spec.data.count()).arg(layers)));
      QCOMPARE(spec.inserted.count() + spec.removed.count() + spec.reset.count(), 0);

      Changes deeper(model);
      set_option(document, OptionGroup::model, "num_layers", layers + 1);
      settle(window);
      QCOMPARE(deeper.inserted.count(), 1);
      QCOMPARE(deeper.removed.count() + deeper.reset.count(), 0);
      QCOMPARE(model.rowCount(), static_cast<int>(2 + made::parameters().size() + layers + 1));

      Changes steps(model);
      set_steps(document, 77);
      settle(window);
      QCOMPARE(steps.data.count() + steps.inserted.count() + steps.removed.count() + steps.reset.count(), 0);
    }
  }

  void what_is_chosen_stays_chosen_when_layers_come_and_go() {
    MainWindow window(deep_source(), "/nowhere/shardrun");
    window.show();
    Document& document = window.workspace().document;
    document.reset(deep_config(5), {});
    settle(window);
    auto* tree = window.findChild<QTreeView*>("parameterTree");
    window.workspace().selection.select_array(ParameterRef{{"params", "Block_3", "key", "kernel"}});
    for (const int64_t layers : {9, 4, 6}) {
      set_option(document, OptionGroup::model, "num_layers", layers);
      settle(window);
      QCOMPARE(tree->currentIndex().siblingAtColumn(0).data().toString(), QString("kernel"));
      QCOMPARE(tree->currentIndex().parent().parent().siblingAtColumn(0).data().toString(), QString("Block_3"));
      QVERIFY(tree->selectionModel()->isSelected(tree->currentIndex()));
    }
  }

  void a_page_that_is_not_seen_does_nothing_and_takes_the_newest_plan_when_it_is_shown() {
    MainWindow window(made::source(), "/nowhere/shardrun");
    window.show();
    Document& document = window.workspace().document;
    document.reset(made::config(), {});
    settle(window);
    window.show_page("memory");
    const QImage four = window.grab().toImage();
    window.show_page("layout");
    set_axis_size(document, 0, 2);
    settle(window);
    window.show_page("memory");
    QVERIFY(window.grab().toImage() != four);
    const std::shared_ptr<const Plan> shown = window.workspace().planner.plan();
    auto* collectives = window.findChild<QTreeView*>("collectives");
    QCOMPARE(collectives->model()->rowCount(), 0);
    window.show_page("collectives");
    QCOMPARE(collectives->model()->rowCount(), 2);
  }

  void a_plan_that_nobody_shows_any_more_is_let_go() {
    MainWindow window(made::source(), "/nowhere/shardrun");
    window.show();
    Document& document = window.workspace().document;
    document.reset(made::config(), {});
    for (const char* page : {"flow", "memory", "collectives", "timeline", "layout"}) {
      window.show_page(page);
      settle(window);
      QTRY_VERIFY_WITH_TIMEOUT(window.is_settled(), patience);
    }
    std::weak_ptr<const Plan> old = window.workspace().planner.plan();
    set_axis_size(document, 0, 2);
    settle(window);
    QTRY_VERIFY2_WITH_TIMEOUT(old.expired(), "after an edit", patience);
    old = window.workspace().planner.plan();
    RunConfig wrong = made::config();
    wrong.mesh_axes[0].size = 3;
    document.reset(wrong, {});
    QTRY_VERIFY2_WITH_TIMEOUT(old.expired(), "after another file", patience);
    QTRY_VERIFY_WITH_TIMEOUT(!window.workspace().planner.is_busy(), patience);
    QVERIFY(!window.workspace().planner.plan());
  }
};

REGISTER_WINDOW_TEST(DeepModelTest)

}  // namespace deep_model_test

#include "deep_model_test.moc"
