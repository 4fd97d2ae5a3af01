#include <QAction>
#include <QChart>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLegendMarker>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QSettings>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <QTextDocument>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>
#include <QValueAxis>
#include <QWheelEvent>
#include <atomic>
#include <cmath>

#include "engine/base/units.h"
#include "gui/look/appearance.h"
#include "gui/look/path_label.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/mode_comparison.h"
#include "gui/run/run_curves.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace layout_test {

using namespace shardscope;

// What is seen, where, and whether it can be read.
class LayoutTest : public QObject {
  Q_OBJECT

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
      CollectiveStart& bucket = *plan.program.tasks[0].instructions[0].as<CollectiveStart>();
      bucket.moved.resize(3, bucket.moved[0]);
      bucket.operands.resize(3, bucket.operands[0]);
      bucket.destinations.resize(3, bucket.destinations[0]);
      plan.program.tasks[0].instructions[1].as<CollectiveDone>()->results = bucket.destinations;
      ParameterPlan& by_rule = plan.parameters.back();
      by_rule.named = true;
      by_rule.origin.text = "you set it in sharding.rules[10]: embed -> replicated; sharding.rules[10]: mlp -> model";
      const ProgramValue& hidden = plan.program.values[plan.instructions()[2].results()[0]];
      plan.layouts.push_back(
          {hidden.graph_value, "hidden", hidden.shape, hidden.sharding, {Origin::Kind::cost, "saves 12 MiB a step"}});
      return plan;
    };
    return source;
  }

  QStringList inspector_texts() {
    QStringList texts;
    for (const QLabel* label : window_->inspector()->findChildren<QLabel*>())
      if (label->isVisible()) texts << label->text().remove(QChar(0x200b));
    return texts;
  }

  // Whether the label paints all of its text, as it breaks it.
  static bool is_whole(const QLabel* label) {
    QTextDocument painted;
    painted.setDefaultTextOption(QTextOption());
    painted.setDefaultFont(label->font());
    painted.setDocumentMargin(0);
    const bool rich = label->textFormat() == Qt::RichText || Qt::mightBeRichText(label->text());
    rich ? painted.setHtml(label->text()) : painted.setPlainText(label->text());
    painted.setTextWidth(label->wordWrap() ? label->contentsRect().width() : -1);
    return painted.idealWidth() <= label->contentsRect().width() + 1 &&
           painted.size().height() <= label->contentsRect().height() + 1;
  }

  void receive_steps(const std::vector<double>& milliseconds) {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    for (size_t i = 0; i < milliseconds.size(); ++i) {
      StepMessage step;
      step.step = static_cast<int64_t>(i);
      step.metrics = {{"loss", 7.5 - 0.1 * double(i)}, {"accuracy", 0.01 * double(i)}};
      step.step_ms = milliseconds[i];
      run.receive(step);
    }
  }

  // Values 1, 2, 3, ... of the metrics in every step, a tenth lower from step to step.
  void receive_metrics(const std::vector<std::string>& names, int steps) {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    for (int i = 0; i < steps; ++i) {
      StepMessage step;
      step.step = i;
      step.step_ms = 1000;
      for (size_t m = 0; m < names.size(); ++m) step.metrics.push_back({names[m], double(m + 1) - 0.1 * i});
      run.receive(step);
    }
  }

  // The solid or dotted curves of a chart, as a person tells them apart: label and colour.
  static QList<QLineSeries*> curves_of(RunCurve* chart) {
    QList<QLineSeries*> curves;
    for (QAbstractSeries* series : chart->chart()->series())
      if (auto* line = qobject_cast<QLineSeries*>(series); line && line->pen().style() != Qt::DashLine) curves << line;
    return curves;
  }

  // Of the pixel columns of the memory's life, the least and the largest share that is filled with buffers.
  static std::pair<double, double> filled_shares(MemoryLife& life) {
    const QImage seen = life.grab().toImage();
    const QRect body = life.body().toRect();
    const QColor ground = theme().base;
    double least = 1, most = 0;
    for (int x = body.left() + 2; x < body.right() - 2; x += 7) {
      int filled = 0;
      for (int y = body.top(); y < body.bottom(); ++y) {
        const QColor color = seen.pixelColor(x, y);
        filled += std::abs(color.red() - ground.red()) + std::abs(color.green() - ground.green()) +
                      std::abs(color.blue() - ground.blue()) >
                  60;
      }
      least = std::min(least, double(filled) / body.height());
      most = std::max(most, double(filled) / body.height());
    }
    return {least, most};
  }

  void drag_inspector_edge(int by) {
    auto* dock = window_->findChild<QDockWidget*>("inspector");
    const int width = dock->width();
    const QPoint edge(dock->x() - 2, dock->y() + 100), to = edge + QPoint(by, 0);
    QTest::mousePress(window_.get(), Qt::LeftButton, {}, edge);
    QMouseEvent drag(QEvent::MouseMove, to, window_->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(window_.get(), &drag);
    QTRY_VERIFY_WITH_TIMEOUT(dock->width() != width, patience);
    QTest::mouseRelease(window_.get(), Qt::LeftButton, {}, to);
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
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
      const QRect inside = window_->rect();
      for (const char* name : {"addAxis", "mode", "preset"}) {
        auto* box = window_->findChild<QWidget*>(name);
        QTRY_VERIFY2_WITH_TIMEOUT(box->isVisible(), name, patience);
        QTRY_VERIFY2_WITH_TIMEOUT(inside.contains(QRect(box->mapTo(window_.get(), QPoint()), box->size())), name,
                                  patience);
      }
    }
  }

  void the_window_fits_a_screen_of_800_by_500_with_every_page_and_its_status_line() {
    for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
      window_->show_page(page);
      window_->resize(800, 500);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), QSize(800, 500), patience);
      QWidget* bar = window_->findChild<QLabel*>("verdict0");
      QTRY_VERIFY_WITH_TIMEOUT(bar->mapTo(window_.get(), QPoint(0, bar->height())).y() <= 500, patience);
      const auto* inspector = window_->inspector()->findChild<QScrollArea*>();
      QTRY_VERIFY_WITH_TIMEOUT(inspector->widget()->width() <= inspector->viewport()->width(), patience);
    }
  }

  void the_sizes_of_three_axes_are_seen_at_any_width() {
    set_mesh_axes(document(), {{"data", 2}, {"model", 2}, {"expert", 2}});
    for (const QSize& size : {QSize(800, 500), QSize(1280, 800), QSize(800, 500)}) {
      window_->resize(size);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
      for (int axis = 0; axis < 3; ++axis) {
        const QSpinBox* field = window_->mesh_bar()->field(axis);
        QTRY_VERIFY2_WITH_TIMEOUT(field->isVisible(), qPrintable(field->objectName()), patience);
        const QRect place(field->mapTo(window_.get(), QPoint()), field->size());
        QVERIFY2(window_->rect().contains(place), qPrintable(field->objectName()));
      }
    }
    QSpinBox* field = window_->mesh_bar()->field(0);
    field->setFocus();
    window_->resize(1600, 1000);
    QTRY_COMPARE_WITH_TIMEOUT(window_->size(), QSize(1600, 1000), patience);
    QVERIFY(field->hasFocus());
  }

  void what_does_not_fit_in_the_tool_bar_is_behind_a_visible_button() {
    set_mesh_axes(document(), {{"data", 2},
                               {"model", 2},
                               {"expert", 2},
                               {"stage_of_the_pipeline", 1},
                               {"sequence_parallel", 1},
                               {"context_parallel", 1},
                               {"tensor_parallel", 1}});
    window_->resize(900, 600);
    QToolButton* button = nullptr;
    const auto shown = [&] {
      for (auto* each : window_->findChildren<QToolButton*>("qt_toolbar_ext_button"))
        if (each->isVisible()) button = each;
      return button != nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(shown(), patience);
    QVERIFY(!button->icon().isNull());
    const QImage seen = button->grab().toImage();
    QSet<QRgb> colors;
    for (int y = 0; y < seen.height(); ++y)
      for (int x = 0; x < seen.width(); ++x) colors.insert(seen.pixel(x, y));
    QVERIFY(colors.size() > 1);
  }

  void every_value_of_the_inspector_is_whole_at_any_width() {
    const auto select = [this](size_t parameter) {
      window_->workspace().selection.select_array(ParameterRef{made::parameters().at(parameter).path});
    };
    select(0);
    QTRY_VERIFY_WITH_TIMEOUT(inspector_texts().contains("P('data', 'model')"), patience);
    for (const QSize& size :
         {QSize(900, 600), QSize(980, 700), QSize(1040, 700), QSize(1280, 800), QSize(1600, 1000)}) {
      window_->resize(size);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
      select(size.width() == 900 ? made::parameters().size() - 1 : 0);
      auto* area = window_->inspector()->findChild<QScrollArea*>();
      QTRY_VERIFY_WITH_TIMEOUT(area->widget()->width() <= area->viewport()->width(), patience);
      for (QLabel* label : window_->inspector()->findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty()) continue;
        QTRY_VERIFY2_WITH_TIMEOUT(is_whole(label), qPrintable(label->text()), patience);
        QTRY_VERIFY2_WITH_TIMEOUT(label->mapTo(window_.get(), QPoint(label->width(), 0)).x() <= window_->width(),
                                  qPrintable(label->text()), patience);
      }
    }
  }

  void units_and_arrows_of_the_inspector_are_not_broken() {
    PathLabel label;
    label.set_path_text("8 x 224 MiB = 1.75 GiB over SelfAttentionBlock_0/mlp");
    QVERIFY2(label.text().contains("224 MiB = 1.75 GiB over"), qPrintable(label.text()));
    label.set_path_text("sharding.rules[5]: mlp -> tensor");
    QVERIFY2(!label.text().contains("-&gt;"), qPrintable(label.text()));
  }

  void what_is_copied_from_the_inspector_is_the_text_itself() {
    const ParameterInfo parameter = made::parameters().back();
    window_->workspace().selection.select_array(ParameterRef{parameter.path});
    const QString why = "you set it in sharding.rules[10]: embed -> replicated; sharding.rules[10]: mlp -> model";
    PathLabel* shown = nullptr;
    const auto find = [&] {
      for (auto* label : window_->inspector()->findChildren<PathLabel*>())
        if (label->isVisible() && label->text().contains("mlp")) shown = label;
      return shown != nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(find(), patience);
    QGuiApplication::clipboard()->clear();
    shown->setFocus();
    QTest::keySequence(shown, QKeySequence::Copy);
    QCOMPARE(QGuiApplication::clipboard()->text(), why);
    shown->setSelection(shown->text().indexOf("sharding"), 20);
    QTest::keySequence(shown, QKeySequence::Copy);
    QVERIFY(why.contains(QGuiApplication::clipboard()->text()));
    QVERIFY(QGuiApplication::clipboard()->text().startsWith("sharding.rules"));
  }

  void every_text_of_a_page_is_whole_at_900_by_600() {
    window_->resize(900, 600);
    QTRY_COMPARE_WITH_TIMEOUT(window_->size(), QSize(900, 600), patience);
    int texts = 0;
    for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
      window_->show_page(page);
      for (QLabel* label : window_->centralWidget()->findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty()) continue;
        QTRY_VERIFY2_WITH_TIMEOUT(is_whole(label), qPrintable(label->text()), patience);
        ++texts;
      }
    }
    QVERIFY(texts > 10);
  }

  void names_and_specs_of_the_tree_are_seen_without_scrolling() {
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    for (const QSize& size : {QSize(900, 600), QSize(1600, 1000)}) {
      window_->resize(size);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
      const QHeaderView* header = tree->header();
      const int column = ParameterModel::spec_column;
      QTRY_VERIFY_WITH_TIMEOUT(
          header->sectionViewportPosition(column) + header->sectionSize(column) <= tree->viewport()->width(), patience);
      QVERIFY(header->sectionSize(column) >= static_cast<QAbstractItemView*>(tree)->sizeHintForColumn(column));
    }
  }

  void shapes_of_the_tree_are_seen_beside_long_specs() {
    RunConfig config = made::config();
    config.mesh_axes = {{"data_of_replicas", 4}, {"tensor_parallel", 2}};
    config.sharding = {};
    config.sharding.in.dims = config.sharding.out.dims = {{"data_of_replicas"}, {}};
    config.sharding.parameters = {
        {{"params", "Embed_0", "embedding"}, {{{"data_of_replicas", "tensor_parallel"}, {}}}}};
    document().reset(config, {});
    window_->resize(1280, 800);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    const QHeaderView* header = tree->header();
    const int column = ParameterModel::shape_column;
    QTRY_VERIFY_WITH_TIMEOUT(
        header->sectionViewportPosition(column) + header->sectionSize(column) <= tree->viewport()->width(), patience);
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
    QTRY_VERIFY_WITH_TIMEOUT(dock->width() <= 200, patience);
    window_->resize(1600, 1000);
    QTRY_VERIFY_WITH_TIMEOUT(dock->width() >= 300, patience);
    drag_inspector_edge(40);
    QTRY_VERIFY_WITH_TIMEOUT(dock->width() < 290, patience);
    const int chosen = dock->width();
    window_->resize(1400, 900);
    window_->resize(1600, 1000);
    QTRY_COMPARE_WITH_TIMEOUT(window_->width(), 1600, patience);
    QCOMPARE(dock->width(), chosen);
  }

  void before_a_run_the_predictions_are_seen_and_with_it_the_curves() {
    auto* comparison = window_->findChild<QWidget*>("comparison");
    auto* curve = window_->findChild<RunCurve*>("timeCurve");
    QVERIFY(comparison->isVisible());
    receive_steps({4000});
    QTRY_VERIFY_WITH_TIMEOUT(curve->isVisible(), patience);
  }

  void step_times_are_marked_in_seconds_or_milliseconds_and_the_prediction_is_dashed() {
    auto* curve = window_->findChild<RunCurve*>("timeCurve");
    const double predicted = planner().plan()->totals.seconds_per_step;
    for (const bool slow : {true, false}) {
      receive_steps(slow ? std::vector<double>{5100, 3472, 3680} : std::vector<double>{51, 34.72, 36.8});
      QTRY_VERIFY_WITH_TIMEOUT(
          curve->chart()->title().contains(QString::fromStdString(seconds_text(slow ? 3.68 : 0.0368))), patience);
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

  void metrics_of_one_kind_share_a_chart_with_a_legend_and_others_have_their_own() {
    receive_metrics({"loss", "accuracy", "z_loss"}, 5);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<RunCurve*>("lossCurve"), patience);
    auto* losses = window_->findChild<RunCurve*>("lossCurve");
    auto* accuracies = window_->findChild<RunCurve*>("accuracyCurve");
    QTRY_VERIFY_WITH_TIMEOUT(losses->isVisible() && accuracies->isVisible(), patience);
    QCOMPARE(window_->findChildren<RunCurve*>().size(), 4);  // with time and speed

    QTRY_COMPARE_WITH_TIMEOUT(curves_of(losses).size(), 2, patience);
    QTRY_COMPARE_WITH_TIMEOUT(curves_of(losses)[0]->points().size(), 5, patience);
    QCOMPARE(curves_of(losses)[0]->name(), QString("Loss  0.6000"));
    QCOMPARE(curves_of(losses)[1]->name(), QString("Z loss  2.6000"));
    QVERIFY(curves_of(losses)[0]->pen().color() != curves_of(losses)[1]->pen().color());
    QVERIFY(losses->chart()->legend()->isVisible());
    int named = 0;
    for (const QLegendMarker* marker : losses->chart()->legend()->markers()) named += marker->isVisible();
    QCOMPARE(named, 2);
    for (int i = 0; i < 5; ++i) QCOMPARE(curves_of(losses)[1]->points()[i], QPointF(i, 3 - 0.1 * i));

    QCOMPARE(curves_of(accuracies).size(), 1);
    QVERIFY(!accuracies->chart()->legend()->isVisible());
    QCOMPARE(accuracies->chart()->title(), QString("Accuracy  160.00%"));
    for (int i = 0; i < 5; ++i) QCOMPARE(curves_of(accuracies)[0]->points()[i], QPointF(i, (2 - 0.1 * i) * 100));
  }

  void any_number_of_metrics_is_shown_and_a_new_run_shows_just_its_own() {
    std::vector<std::string> losses, kinds;
    for (size_t i = 0; i < max_metrics; ++i) {
      losses.push_back("l" + std::to_string(i) + "_loss");
      kinds.push_back("kind" + std::to_string(i));
    }
    const std::vector<std::pair<std::vector<std::string>, int>> runs = {
        {losses, 1}, {{}, 0}, {kinds, static_cast<int>(max_metrics)}, {{"loss"}, 1}, {{"loss", "accuracy"}, 2}};
    int steps = 2;
    for (const auto& [names, charts] : runs) {
      receive_metrics(names, ++steps);
      QTRY_COMPARE_WITH_TIMEOUT(window_->findChildren<RunCurve*>().size(), charts + 2, patience);
      auto* area = window_->findChild<RunCurves*>();
      QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<RunCurve*>("timeCurve")->isVisible(), patience);
      QSet<QString> looks;
      qsizetype curves = 0;
      for (RunCurve* chart : window_->findChildren<RunCurve*>()) {
        QTRY_VERIFY_WITH_TIMEOUT(area->rect().contains(chart->geometry()), patience);
        if (chart->objectName() == "timeCurve" || chart->objectName() == "speedCurve") continue;
        for (const QLineSeries* curve : curves_of(chart)) {
          ++curves;
          QTRY_COMPARE_WITH_TIMEOUT(curve->points().size(), steps, patience);
          looks += chart->objectName() + curve->pen().color().name() + QString::number(curve->pen().style());
        }
      }
      QCOMPARE(curves, qsizetype(names.size()));
      QCOMPARE(looks.size(), curves);
    }
  }

  void a_slow_first_step_does_not_flatten_the_rest() {
    auto* curve = window_->findChild<RunCurve*>("timeCurve");
    receive_steps({9000, 40, 42, 41, 43});
    QTRY_VERIFY_WITH_TIMEOUT(curve->chart()->title().contains("43.0 ms"), patience);
    QVERIFY(vertical(curve)->max() < 200);
    QCOMPARE(curves_of(curve)[0]->points().size(), 5);
  }

  void under_the_pointer_stands_what_each_curve_is_at_that_step_in_all_charts() {
    receive_metrics({"loss", "z_loss", "accuracy"}, 5);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<RunCurve*>("lossCurve"), patience);
    auto* losses = window_->findChild<RunCurve*>("lossCurve");
    QTRY_COMPARE_WITH_TIMEOUT(curves_of(losses).size(), 2, patience);
    QTRY_VERIFY_WITH_TIMEOUT(losses->isVisible() && losses->chart()->plotArea().width() > 50, patience);
    QVERIFY(losses->readout().isEmpty());
    const QPointF at = losses->chart()->mapToPosition({2.2, 1}, curves_of(losses)[0]);
    QMouseEvent move(QEvent::MouseMove, at, losses->viewport()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
    QApplication::sendEvent(losses->viewport(), &move);
    QCOMPARE(losses->readout(), QStringList({"step 2", "Loss  0.8000", "Z loss  1.8000"}));
    QCOMPARE(window_->findChild<RunCurve*>("accuracyCurve")->readout().front(), QString("step 2"));
    QVERIFY(!losses->grab().isNull());
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(losses->viewport(), &leave);
    QApplication::sendEvent(losses, &leave);
    QVERIFY(losses->readout().isEmpty());
  }

  void curves_can_be_smoothed_and_drawn_on_a_logarithmic_scale() {
    RunConfig config = made::config();
    config.steps = 20;
    document().reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    receive_metrics({"loss"}, 20);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<RunCurve*>("lossCurve"), patience);
    auto* losses = window_->findChild<RunCurve*>("lossCurve");
    QTRY_COMPARE_WITH_TIMEOUT(curves_of(losses).isEmpty() ? 0 : curves_of(losses)[0]->points().size(), 20, patience);
    auto* log_scale = window_->findChild<QCheckBox*>("logScale");
    QTRY_VERIFY_WITH_TIMEOUT(log_scale->isVisible(), patience);
    log_scale->click();
    QCOMPARE(curves_of(losses)[0]->points().size(), 10);  // 1 - 0.1 i: ten are above zero
    QVERIFY(std::abs(curves_of(losses)[0]->points()[5].y() - std::log10(0.5)) < 1e-9);
    QVERIFY(losses->chart()->axes(Qt::Vertical).size() == 1);
    log_scale->click();
    QCOMPARE(curves_of(losses)[0]->points()[5], QPointF(5, 0.5));
    window_->findChild<QSlider*>("smoothing")->setValue(90);
    QVERIFY(curves_of(losses)[0]->points()[19].y() > -0.9 + 0.1);
    window_->findChild<QSlider*>("smoothing")->setValue(0);
    QCOMPARE(curves_of(losses)[0]->points()[5], QPointF(5, 0.5));
  }

  void speed_is_what_all_ranks_do_a_second() {
    auto* curve = window_->findChild<RunCurve*>("speedCurve");
    receive_steps({500, 400, 200});
    QTRY_VERIFY_WITH_TIMEOUT(curve->isVisible(), patience);
    const StepWork work = step_work(*planner().plan());
    QVERIFY(work.are_tokens);
    QCOMPARE(work.items, 64.0 * 128);
    QTRY_COMPARE_WITH_TIMEOUT(curves_of(curve)[0]->points().size(), 3, patience);
    const std::vector<double> seconds{0.5, 0.4, 0.2};
    for (int i = 0; i < 3; ++i) QCOMPARE(curves_of(curve)[0]->points()[i].y(), work.items / seconds[size_t(i)]);
    const Plan& plan = *planner().plan();
    const double peak = plan.machine.device.cores * plan.machine.device.products.at(Precision::f32).flops_per_second;
    const double share = plan.totals.flops_per_device * plan.mesh.device_count() / 0.2 / peak;
    QVERIFY(share > 0 && std::abs(work.share_of_peak(0.2) - share) < 1e-9 * share);
    const QString said = QString::fromStdString(share_text(share)) + " of peak";
    QVERIFY2(curve->chart()->title().contains(said), qPrintable(curve->chart()->title() + " / " + said));
  }

  void the_log_can_be_that_of_one_rank() {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    for (const int rank : {1, -1, 0, 1}) run.receive(LogMessage{rank, "line of " + std::to_string(rank)});
    auto* box = window_->findChild<QComboBox*>("logRank");
    auto* log = window_->findChild<QPlainTextEdit*>("log");
    QStringList speakers;
    for (int i = 0; i < box->count(); ++i) speakers << box->itemText(i);
    QCOMPARE(speakers, QStringList({"all", "shardrun", "rank 0", "rank 1"}));
    QCOMPARE(log->toPlainText().split('\n').size(), 4);
    box->setCurrentIndex(3);
    QCOMPARE(log->toPlainText(), QString("line of 1\nline of 1"));
    run.receive(LogMessage{1, "more"});
    run.receive(LogMessage{0, "not this"});
    QCOMPARE(log->toPlainText(), QString("line of 1\nline of 1\nmore"));
    run.begin_replay(planner().plan());
    QCOMPARE(log->toPlainText(), QString());
  }

  void both_layout_modes_stand_side_by_side_and_one_can_be_chosen() {
    window_->show_page("collectives");
    auto* modes = window_->findChild<ModeComparison*>();
    for (const LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
      set_mode(document(), mode);
      QTRY_VERIFY_WITH_TIMEOUT(modes->plan_of(LayoutMode::fastest) && modes->plan_of(LayoutMode::as_written), patience);
      const double moved = modes->plan_of(LayoutMode::fastest)->totals.wire_bytes_per_device;
      QTRY_COMPARE_WITH_TIMEOUT(modes->findChild<QLabel*>("mode0_1")->text(), QString::fromStdString(bytes_text(moved)),
                                patience);
      QTRY_COMPARE_WITH_TIMEOUT(modes->findChild<QLabel*>("mode1_1")->text(),
                                QString::fromStdString(bytes_text(3 * moved)), patience);
      QCOMPARE(modes->findChild<QLabel*>("mode0_3")->text(), QString("2"));
      QVERIFY(modes->findChild<QRadioButton*>(mode == LayoutMode::fastest ? "chooseFastest" : "chooseAsWritten")
                  ->isChecked());
    }
    QTest::mouseClick(modes->findChild<QRadioButton*>("chooseFastest"), Qt::LeftButton);
    QCOMPARE(document().config().sharding.mode, LayoutMode::fastest);
  }

  void the_comparison_follows_edits() {
    window_->show_page("collectives");
    auto* modes = window_->findChild<ModeComparison*>();
    for (const int size : {2, 1, 4}) {
      set_axis_size(document(), 0, size);
      QTRY_VERIFY_WITH_TIMEOUT(modes->plan_of(LayoutMode::as_written), patience);
      QCOMPARE(modes->plan_of(LayoutMode::as_written)->mesh.axes()[0].size, int64_t{size});
    }
  }

  void a_chosen_collective_tells_the_first_cause_and_how_many_more() {
    const Plan& plan = *planner().plan();
    window_->show_page("collectives");
    window_->workspace().selection.select_step(step_at(plan, 0));
    QTRY_VERIFY_WITH_TIMEOUT(inspector_texts().join('\n').contains("(and 2 more)"), patience);
    const QString cause = QString::fromStdString(plan.cause(plan.instructions()[0]));
    QCOMPARE(cause.count('\n'), 2);
    bool whole = false;
    for (const QLabel* label : window_->inspector()->findChildren<QLabel*>()) whole |= label->toolTip() == cause;
    QVERIFY(whole);
    const QString copied = window_->findChild<CollectivesPage*>()->copied_text();
    QVERIFY(copied.contains(QString(cause).replace("\n", "; ")));
    QCOMPARE(copied.count('\n'), 3);  // titles, the chosen one, total
  }

  void an_activation_chosen_in_the_flow_tells_why_it_is_so() {
    window_->show_page("flow");
    window_->findChild<FlowPage*>()->show_list(true);
    auto* flow = window_->findChild<QListView*>("flow");
    const StepRef second = step_at(*planner().plan(), 2);
    for (int row = 0; row < flow->model()->rowCount(); ++row)
      if (flow->model()->index(row, 0).data(FlowModel::step_role).value<StepRef>() == second)
        flow->setCurrentIndex(flow->model()->index(row, 0));
    QCOMPARE(window_->workspace().selection.step(), std::optional(second));
    QTRY_VERIFY_WITH_TIMEOUT(inspector_texts().contains("saves 12 MiB a step"), patience);
  }

  void an_op_activated_in_the_flow_selects_the_array_that_it_computes() {
    window_->show_page("flow");
    window_->findChild<FlowPage*>()->show_list(true);
    auto* flow = window_->findChild<QListView*>("flow");
    flow->setCurrentIndex(flow->model()->index(1, 0));
    flow->setFocus();
    QTest::keyClick(flow, Qt::Key_Return);
    QVERIFY(window_->workspace().selection.array() == ArrayRef(ValueRef{"hidden"}));
    QTRY_VERIFY_WITH_TIMEOUT(inspector_texts().contains("hidden"), patience);
  }

  void every_array_is_found_by_its_name_and_by_its_title() {
    std::vector<ArrayRef> arrays{InputRef{}, OutputRef{}, ValueRef{"hidden"}};
    for (const ParameterPlan& parameter : planner().plan()->parameters) {
      arrays.push_back(ParameterRef{parameter.path});
      for (const std::string& state : parameter.state_names) arrays.push_back(StateRef{state, parameter.path});
    }
    for (const ArrayRef& array : arrays) {
      QVERIFY2(find_array(planner(), name_of(array)) == array, qPrintable(name_of(array)));
      QVERIFY(array_facts(window_->workspace(), array));
    }
    QVERIFY(find_array(planner(), "Dense_0/bias") == ArrayRef(ParameterRef{{"params", "Dense_0", "bias"}}));
    QVERIFY(!find_array(planner(), "nowhere"));
  }

  void the_life_of_the_arena_is_drawn_in_full_at_any_depth_and_zoom() {
    for (const int layers : {2, 12, 50, 200, 500}) {
      PlanSource deep = made::source();
      deep.plan = [layers](const RunConfig& config, std::stop_token stop) {
        return made::crowded_plan(made::plan(config, stop), layers);
      };
      MainWindow window(deep, "/nowhere/shardrun");
      window.workspace().document.reset(made::config(), {});
      window.show_page("memory");
      window.show();
      QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
      window.findChild<MemoryPage*>()->show_arena(true);
      auto* life = window.findChild<MemoryLife*>();
      QVERIFY(life->isVisible());
      const QPointF low = life->body().bottomLeft() + QPointF(30, -5);
      const auto turn_wheel = [&](Qt::KeyboardModifiers keys) {
        QWheelEvent wheel(low, life->mapToGlobal(low), {}, {0, 240}, {}, keys, Qt::NoScrollPhase, false);
        QApplication::sendEvent(life, &wheel);
      };
      const auto is_drawn = [&](double share) {
        const auto [least, most] = filled_shares(*life);
        return std::abs(least - share) < 0.05 && std::abs(most - share) < 0.05;
      };
      QVERIFY2(is_drawn(made::crowded_share), qPrintable(QString::number(layers)));
      turn_wheel(Qt::NoModifier);
      QVERIFY(is_drawn(made::crowded_share));
      turn_wheel(Qt::ControlModifier);
      turn_wheel(Qt::ControlModifier);
      QVERIFY(is_drawn(1));
      QTest::mouseDClick(life, Qt::LeftButton, {}, low.toPoint());
      QVERIFY(is_drawn(made::crowded_share));
    }
  }

  void a_chosen_theme_and_the_docks_are_there_the_next_time() {
    window_->remember_arrangement();
    auto* dock = window_->findChild<QDockWidget*>("inspector");
    window_->resize(1300, 820);
    drag_inspector_edge(-23);
    const int chosen = dock->width();
    window_->findChild<QDockWidget*>("run")->hide();
    for (QAction* action : window_->findChildren<QAction*>())
      if (action->text() == "&Dark") action->trigger();
    QVERIFY(theme().dark);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    window_->close();
    apply_theme(*qApp, ThemeChoice::light);
    QCOMPARE(remembered_theme(), ThemeChoice::dark);

    MainWindow next(made::source(), "/nowhere/shardrun");
    next.remember_arrangement();
    next.show();
    QVERIFY(QTest::qWaitForWindowExposed(&next));
    QTRY_COMPARE_WITH_TIMEOUT(next.findChild<QDockWidget*>("inspector")->width(), chosen, patience);
    QVERIFY(next.findChild<QDockWidget*>("run")->isHidden());
  }

  void docks_that_no_person_has_sized_take_their_share_of_a_larger_window_the_next_time() {
    window_->remember_arrangement();
    window_->resize(900, 600);
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QDockWidget*>("inspector")->width() < 230, patience);
    window_->close();
    MainWindow next(made::source(), "/nowhere/shardrun");
    next.remember_arrangement();
    next.show();
    next.resize(1600, 1000);
    QTRY_VERIFY_WITH_TIMEOUT(next.findChild<QDockWidget*>("inspector")->width() >= 300, patience);
  }

  void a_change_of_theme_repaints_and_never_plans() {
    auto plans = std::make_shared<std::atomic<int>>(0);
    PlanSource counted = source();
    counted.plan = [plans, plan = counted.plan](const RunConfig& config, std::stop_token stop) {
      ++*plans;
      return plan(config, stop);
    };
    MainWindow window(counted, "/nowhere/shardrun");
    window.workspace().document.reset(made::config(), {});
    window.show_page("collectives");
    window.show();
    QVERIFY(QTest::qWaitForWindowExposed(&window));
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current() && window.is_settled(), patience);
    window.workspace().run.begin_replay(window.workspace().planner.plan());
    StepMessage trained;
    trained.metrics = {{"loss", 7.5}};
    window.workspace().run.receive(trained);
    QTRY_VERIFY_WITH_TIMEOUT(window.findChild<RunCurve*>("lossCurve"), patience);
    const int before = *plans;
    QSignalSpy requested(&window.workspace().planner, &Planner::requested);
    const auto axis_label = [&] {
      for (const QLabel* label : window.mesh_bar()->findChildren<QLabel*>())
        if (label->text().endsWith("data")) return label->text();
      return QString();
    };
    for (const char* text : {"&Dark", "&Light", "&Dark"}) {
      for (QAction* action : window.findChildren<QAction*>())
        if (action->text() == text) action->trigger();
      QVERIFY2(window.grab().toImage().pixelColor(4, window.height() - 4) == theme().window, text);
      QVERIFY(axis_label().contains(axis_color(0, theme()).name()));
      const QColor verdict = window.workspace().findings.list().empty() ? theme().good : theme().warning;
      QVERIFY(window.findChild<QLabel*>("verdict0")->text().contains(verdict.name()));
      for (const char* curve : {"lossCurve", "timeCurve"})
        QVERIFY2(window.findChild<RunCurve*>(curve)->chart()->titleBrush().color() == theme().text, curve);
      QCoreApplication::processEvents();  // nor in a later turn
    }
    QCOMPARE(requested.count(), 0);
    QVERIFY(window.is_settled());
    QCOMPARE(plans->load(), before);
    apply_theme(*qApp, ThemeChoice::light);
  }

  void a_window_that_was_not_asked_to_remember_leaves_no_trace() {
    window_->close();
    QVERIFY(QSettings().allKeys().isEmpty());
  }
};

REGISTER_WINDOW_TEST(LayoutTest)

}  // namespace layout_test

#include "layout_test.moc"
