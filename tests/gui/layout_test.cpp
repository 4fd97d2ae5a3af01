#include <QAction>
#include <QChart>
#include <QHeaderView>
#include <QLabel>
#include <QLineSeries>
#include <QMouseEvent>
#include <QScrollArea>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>
#include <QValueAxis>
#include <cmath>

#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/mode_comparison.h"
#include "gui/run/run_curves.h"
#include "gui/window/appearance.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "viz/paint/units.h"

using namespace shardscope;

// What is seen, where, and whether it can be read.
class LayoutTest : public QObject {
  Q_OBJECT

  static constexpr int patience = 60000;
  QTemporaryDir settings_;
  std::unique_ptr<MainWindow> window_;

  Planner& planner() { return window_->workspace().planner; }
  Document& document() { return window_->workspace().document; }

  // The made plan; as written it moves thrice as much, and its first collective is of a bucket of three arrays.
  static PlanSource source() {
    PlanSource source = made::source();
    source.plan = [](const RunConfig& config, std::stop_token stop) {
      Plan plan = made::plan(config, stop);
      if (config.sharding.mode == LayoutMode::as_written) plan.totals.wire_bytes_per_device *= 3;
      Step& bucket = plan.program.tasks[0].steps[0];
      bucket.moved.resize(3, bucket.moved[0]);
      const ProgramValue& hidden = plan.program.values[plan.steps()[1].outputs[0]];
      plan.layouts.push_back(
          {hidden.graph_value, "hidden", hidden.shape, hidden.sharding, {Origin::Kind::cost, "saves 12 MiB a step"}});
      return plan;
    };
    return source;
  }

  QStringList inspector_texts() {
    QStringList texts;
    for (const QLabel* label : window_->inspector()->findChildren<QLabel*>())
      if (label->isVisible()) texts << label->text();
    return texts;
  }

  void receive_steps(const std::vector<double>& milliseconds) {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    for (size_t i = 0; i < milliseconds.size(); ++i) {
      StepMessage step;
      step.step = static_cast<int64_t>(i);
      step.loss = 7.5 - 0.1 * double(i);
      step.accuracy = 0.01 * double(i);
      step.step_ms = milliseconds[i];
      run.receive(step);
    }
  }

  static QValueAxis* vertical(RunCurve* curve) {
    return static_cast<QValueAxis*>(curve->chart()->axes(Qt::Vertical).first());
  }

 private slots:
  void initTestCase() {
    QCoreApplication::setOrganizationName("shardscope-tests");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings_.path());
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    QSettings().clear();
    window_ = std::make_unique<MainWindow>(source(), "/nowhere/shardrun");
    document().reset(made::config(), {});
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void cleanup() {
    document().reset(made::config(), {});
    window_.reset();
  }

  void nothing_of_the_tool_bar_is_hidden_from_900_pixels_on() {
    for (const QSize& size : {QSize(900, 600), QSize(1280, 800), QSize(1600, 1000), QSize(900, 600)}) {
      window_->resize(size);
      QTRY_COMPARE(window_->size(), size);
      const QRect inside = window_->rect();
      for (const char* name : {"mode", "preset"}) {
        auto* box = window_->findChild<QComboBox*>(name);
        QTRY_VERIFY2(box->isVisible(), name);
        QTRY_VERIFY2(inside.contains(QRect(box->mapTo(window_.get(), QPoint()), box->size())), name);
      }
    }
  }

  void what_does_not_fit_in_the_tool_bar_is_behind_a_visible_button() {
    set_mesh_axes(document(), {{"data", 2}, {"model", 2}, {"expert", 2}, {"stage", 1}});
    window_->resize(900, 600);
    auto* button = window_->findChild<QToolButton*>("qt_toolbar_ext_button");
    QTRY_VERIFY(button && button->isVisible());
    QVERIFY(!button->icon().isNull());
    const QImage seen = button->grab().toImage();
    QSet<QRgb> colors;
    for (int y = 0; y < seen.height(); ++y)
      for (int x = 0; x < seen.width(); ++x) colors.insert(seen.pixel(x, y));
    QVERIFY(colors.size() > 1);
  }

  void every_value_of_the_inspector_is_whole_at_any_width() {
    window_->workspace().selection.select_array("params/Embed_0/embedding");
    QTRY_VERIFY(inspector_texts().contains("[data] [model]"));
    for (const QSize& size :
         {QSize(900, 600), QSize(980, 700), QSize(1040, 700), QSize(1280, 800), QSize(1600, 1000)}) {
      window_->resize(size);
      QTRY_COMPARE(window_->size(), size);
      auto* area = window_->inspector()->findChild<QScrollArea*>();
      QTRY_VERIFY(area->widget()->width() <= area->viewport()->width());
      for (QLabel* label : window_->inspector()->findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty()) continue;
        QTextDocument painted;
        painted.setDefaultFont(label->font());
        painted.setDocumentMargin(0);
        Qt::mightBeRichText(label->text()) ? painted.setHtml(label->text()) : painted.setPlainText(label->text());
        painted.setTextWidth(label->wordWrap() ? label->contentsRect().width() : -1);
        QTRY_VERIFY2(label->height() + 1 >= painted.size().height(), qPrintable(label->text()));
        QVERIFY2(label->mapTo(window_.get(), QPoint(label->width(), 0)).x() <= window_->width(),
                 qPrintable(label->text()));
      }
    }
  }

  void names_and_specs_of_the_tree_are_seen_without_scrolling() {
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    for (const QSize& size : {QSize(900, 600), QSize(1600, 1000)}) {
      window_->resize(size);
      QTRY_COMPARE(window_->size(), size);
      const QHeaderView* header = tree->header();
      const int column = ParameterModel::spec_column;
      QTRY_VERIFY(header->sectionViewportPosition(column) + header->sectionSize(column) <= tree->viewport()->width());
      QVERIFY(header->sectionSize(column) >= static_cast<QAbstractItemView*>(tree)->sizeHintForColumn(column));
    }
  }

  void widths_that_a_person_set_stay() {
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    tree->header()->resizeSection(ParameterModel::spec_column, 177);
    window_->resize(1500, 900);
    set_axis_size(document(), 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(tree->header()->sectionSize(ParameterModel::spec_column), 177);
  }

  void docks_grow_with_the_window_until_a_person_has_sized_them() {
    auto* dock = window_->findChild<QDockWidget*>("inspector");
    window_->resize(1000, 700);
    QTRY_VERIFY(dock->width() <= 200);
    window_->resize(1600, 1000);
    QTRY_VERIFY(dock->width() >= 300);
    const QPoint edge(dock->x() - 2, dock->y() + 100);
    QTest::mousePress(window_.get(), Qt::LeftButton, {}, edge);
    QMouseEvent drag(QEvent::MouseMove, edge + QPoint(40, 0), window_->mapToGlobal(edge + QPoint(40, 0)), Qt::NoButton,
                     Qt::LeftButton, {});
    QApplication::sendEvent(window_.get(), &drag);
    QTRY_VERIFY(dock->width() < 290);
    QTest::mouseRelease(window_.get(), Qt::LeftButton, {}, edge + QPoint(40, 0));
    const int chosen = dock->width();
    window_->resize(1400, 900);
    window_->resize(1600, 1000);
    QTRY_COMPARE(window_->width(), 1600);
    QCOMPARE(dock->width(), chosen);
  }

  void before_a_run_the_predictions_are_seen_and_with_it_the_curves() {
    auto* comparison = window_->findChild<QWidget*>("comparison");
    auto* curve = window_->findChild<RunCurve*>("timeCurve");
    QVERIFY(comparison->isVisible());
    receive_steps({4000});
    QTRY_VERIFY(curve->isVisible());
  }

  void step_times_are_marked_in_seconds_or_milliseconds_and_the_prediction_is_dashed() {
    auto* curve = window_->findChild<RunCurve*>("timeCurve");
    const double predicted = planner().plan()->totals.seconds_per_step;
    for (const bool slow : {true, false}) {
      receive_steps(slow ? std::vector<double>{5100, 3472, 3680} : std::vector<double>{51, 34.72, 36.8});
      QTRY_VERIFY(curve->chart()->title().contains(QString::fromStdString(seconds_text(slow ? 3.68 : 0.0368))));
      QVERIFY(curve->chart()->title().contains(QString::fromStdString(seconds_text(predicted))));
      const QValueAxis* axis = vertical(curve);
      QVERIFY2(axis->labelFormat().endsWith(slow ? "f s" : "f ms"), qPrintable(axis->labelFormat()));
      const double unit = slow ? 1 : 1000;
      QVERIFY(axis->min() <= std::min(predicted, slow ? 3.472 : 0.03472) * unit + 1e-9);
      QVERIFY(axis->max() >= (slow ? 5.1 : 0.051) * unit - 1e-9);
      int dashed = 0;
      for (const QAbstractSeries* series : curve->chart()->series())
        if (const auto* line = qobject_cast<const QLineSeries*>(series); line && line->pen().style() == Qt::DashLine) {
          ++dashed;
          QVERIFY(line->isVisible());
          for (const QPointF& point : line->points()) QCOMPARE(point.y(), predicted * unit);
        }
      QCOMPARE(dashed, 1);
    }
  }

  void both_layout_modes_stand_side_by_side_and_one_can_be_chosen() {
    window_->showPage("collectives");
    auto* modes = window_->findChild<ModeComparison*>();
    for (const LayoutMode mode : {LayoutMode::cheapest, LayoutMode::as_written}) {
      set_mode(document(), mode);
      QTRY_VERIFY_WITH_TIMEOUT(modes->plan_of(LayoutMode::cheapest) && modes->plan_of(LayoutMode::as_written),
                               patience);
      const double moved = modes->plan_of(LayoutMode::cheapest)->totals.wire_bytes_per_device;
      QTRY_COMPARE(modes->findChild<QLabel*>("mode0_1")->text(), QString::fromStdString(bytes_text(moved)));
      QTRY_COMPARE(modes->findChild<QLabel*>("mode1_1")->text(), QString::fromStdString(bytes_text(3 * moved)));
      QCOMPARE(modes->findChild<QLabel*>("mode0_3")->text(), QString("2"));
      QVERIFY(modes->findChild<QRadioButton*>(mode == LayoutMode::cheapest ? "chooseCheapest" : "chooseAsWritten")
                  ->isChecked());
    }
    QTest::mouseClick(modes->findChild<QRadioButton*>("chooseCheapest"), Qt::LeftButton);
    QCOMPARE(document().config().sharding.mode, LayoutMode::cheapest);
  }

  void the_comparison_follows_edits() {
    window_->showPage("collectives");
    auto* modes = window_->findChild<ModeComparison*>();
    for (const int size : {2, 1, 4}) {
      set_axis_size(document(), 0, size);
      QTRY_VERIFY_WITH_TIMEOUT(modes->plan_of(LayoutMode::as_written), patience);
      QCOMPARE(modes->plan_of(LayoutMode::as_written)->config.mesh_axes[0].size, int64_t{size});
    }
  }

  void a_chosen_collective_tells_the_first_cause_and_how_many_more() {
    window_->workspace().selection.select_step(0);
    QTRY_VERIFY(inspector_texts().join('\n').contains("[model] (and 2 more)"));
    const Plan& plan = *planner().plan();
    const QString cause = QString::fromStdString(plan.cause(plan.steps()[0]));
    QCOMPARE(cause.count('\n'), 2);
    bool whole = false;
    for (const QLabel* label : window_->inspector()->findChildren<QLabel*>()) whole |= label->toolTip() == cause;
    QVERIFY(whole);
    const QString copied = window_->findChild<CollectivesPage*>()->copied_text();
    QVERIFY(copied.contains(QString(cause).replace("\n", "; ")));
    QCOMPARE(copied.count('\n'), 3);  // titles, the chosen one, total
  }

  void an_activation_chosen_in_the_flow_tells_why_it_lies_so() {
    window_->showPage("flow");
    auto* flow = window_->findChild<QListView*>("flow");
    for (int row = 0; row < flow->model()->rowCount(); ++row)
      if (flow->model()->index(row, 0).data(FlowModel::step_role).toInt() == 1)
        flow->setCurrentIndex(flow->model()->index(row, 0));
    QCOMPARE(window_->workspace().selection.step(), 1);
    QTRY_VERIFY(inspector_texts().contains("saves 12 MiB a step"));
  }

  void a_chosen_theme_and_the_docks_are_there_the_next_time() {
    window_->rememberArrangement();
    auto* dock = window_->findChild<QDockWidget*>("inspector");
    window_->resize(1300, 820);
    window_->resizeDocks({dock}, {277}, Qt::Horizontal);
    QTRY_COMPARE(dock->width(), 277);
    window_->findChild<QDockWidget*>("run")->hide();
    for (QAction* action : window_->findChildren<QAction*>())
      if (action->text() == "&Dark") action->trigger();
    QVERIFY(theme().dark);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    window_->close();
    apply_theme(*qApp, ThemeChoice::light);
    QCOMPARE(remembered_theme(), ThemeChoice::dark);

    MainWindow next(made::source(), "/nowhere/shardrun");
    next.rememberArrangement();
    next.show();
    QVERIFY(QTest::qWaitForWindowExposed(&next));
    QTRY_COMPARE(next.findChild<QDockWidget*>("inspector")->width(), 277);
    QVERIFY(next.findChild<QDockWidget*>("run")->isHidden());
  }

  void a_window_that_was_not_asked_to_remember_leaves_no_trace() {
    window_->close();
    QVERIFY(QSettings().allKeys().isEmpty());
  }
};

QTEST_MAIN(LayoutTest)
#include "layout_test.moc"
