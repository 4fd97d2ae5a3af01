#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QBoxLayout>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDialog>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStandardPaths>
#include <QTabBar>
#include <QTest>
#include <QTimer>
#include <QTreeView>
#include <semaphore>

#include "gui/look/appearance.h"
#include "gui/planning/legal_sizes.h"
#include "gui/window/about_dialog.h"
#include "gui/window/presets.h"
#include "gui/window/problem_strip.h"
#include "gui/window/tour.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace habits_test {

using namespace shardscope;

// What a person expects of every program's window.
class HabitsTest : public WindowCase {
  Q_OBJECT

  QDockWidget* dock(const char* name) { return window_->findChild<QDockWidget*>(name); }
  void settle() { QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience); }
  QTabBar* bottom_tabs() {
    for (auto* bar : window_->findChildren<QTabBar*>())
      if (bar->accessibleName() == "Panels below") return bar;
    return nullptr;
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(made::source(), made::config()); }

  void cleanup() { close_window(); }

  void every_control_of_the_window_has_an_accessible_name() {
    QStringList without;
    const auto* pages = window_->findChild<QTabWidget*>("pages");
    for (QWidget* widget : window_->findChildren<QWidget*>()) {
      const bool is_control = qobject_cast<QAbstractButton*>(widget) || qobject_cast<QLineEdit*>(widget) ||
                              qobject_cast<QComboBox*>(widget) || qobject_cast<QAbstractSpinBox*>(widget) ||
                              qobject_cast<QAbstractItemView*>(widget) ||
                              ((widget->focusPolicy() & Qt::TabFocus) && !qobject_cast<QTabBar*>(widget) &&
                               !qobject_cast<QAbstractScrollArea*>(widget) && !qobject_cast<QTabWidget*>(widget));
      if (!is_control) continue;
      const QWidget* parent = widget->parentWidget();
      const bool is_part = widget->objectName().startsWith("qt_") || qobject_cast<const QComboBox*>(parent) ||
                           qobject_cast<const QAbstractSpinBox*>(parent) || qobject_cast<const QLineEdit*>(parent) ||
                           qobject_cast<const QTabBar*>(parent) || qobject_cast<const QAbstractItemView*>(parent) ||
                           QString(widget->metaObject()->className()).startsWith("QComboBox") ||
                           QString(widget->metaObject()->className()).startsWith("QTableCorner");
      if (is_part) continue;
      QAccessibleInterface* said = QAccessible::queryAccessibleInterface(widget);
      if (said && !said->text(QAccessible::Name).isEmpty()) continue;
      QStringList path;
      for (const QWidget* at = widget; at; at = at->parentWidget())
        path << QString("%1 %2").arg(at->metaObject()->className(), at->objectName());
      without << path.mid(0, 4).join(" in ");
    }
    QVERIFY(pages->count() >= 7);
    for (const QString& one : without) qWarning().noquote() << one;
    QVERIFY(without.isEmpty());
  }

  void the_panels_below_are_their_tabs_alone_until_one_is_chosen() {
    QTRY_VERIFY_WITH_TIMEOUT(bottom_tabs(), patience);
    const int closed = dock("run")->height();
    QVERIFY2(closed < 12, qPrintable(QString::number(closed)));
    const int tall = window_->findChild<QTabWidget*>("pages")->height();
    QTest::mouseClick(bottom_tabs(), Qt::LeftButton, {}, bottom_tabs()->tabRect(1).center());
    QTRY_VERIFY_WITH_TIMEOUT(dock("problems")->height() > 60, patience);
    QVERIFY(window_->findChild<QTabWidget*>("pages")->height() < tall);
    QTest::mouseClick(bottom_tabs(), Qt::LeftButton, {}, bottom_tabs()->tabRect(1).center());
    QTRY_COMPARE_WITH_TIMEOUT(window_->findChild<QTabWidget*>("pages")->height(), tall, patience);
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+J"));
    QTRY_VERIFY_WITH_TIMEOUT(dock("problems")->height() > 60, patience);
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+J"));
    QTRY_COMPARE_WITH_TIMEOUT(window_->findChild<QTabWidget*>("pages")->height(), tall, patience);
  }

  void a_run_opens_the_panels_below() {
    window_->workspace().run.begin_replay(planner().plan());
    QTRY_VERIFY_WITH_TIMEOUT(dock("run")->height() > 60, patience);
    QVERIFY(!window_->findChild<RunPanel*>()->visibleRegion().isEmpty());
  }

  void a_problem_moves_nothing_and_its_mending_is_one_click() {
    const QRect page = window_->findChild<QTabWidget*>("pages")->geometry();
    set_axis_size(document(), 0, 3);
    settle();
    auto* strip = window_->findChild<ProblemStrip*>();
    QVERIFY(strip->isVisible());
    QCOMPARE(window_->findChild<QTabWidget*>("pages")->geometry(), page);
    QToolButton* fix = nullptr;
    const auto find = [&] {
      for (auto* button : strip->findChildren<QToolButton*>())
        if (button->text() == "data = 4" && button->isVisible()) fix = button;
      return fix != nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(find(), patience);
    QVERIFY2(fix->toolTip().contains("data may be"), qPrintable(fix->toolTip()));
    QVERIFY(strip->rect().contains(fix->geometry()));
    const int edits = document().undo_stack().count();
    fix->click();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(!strip->isVisible());
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{4});
    QCOMPARE(document().undo_stack().count(), edits + 1);
  }

  void the_strip_of_a_problem_is_as_high_as_its_text() {
    auto* strip = window_->findChild<ProblemStrip*>();
    const auto* text = strip->findChild<QLabel*>("banner");
    for (const QSize& size : {QSize(1600, 900), QSize(1280, 800), QSize(1024, 700)}) {
      window_->resize(size);
      for (const int64_t data : {3, 5, 7}) {
        set_axis_size(document(), 0, data);
        settle();
        QTRY_VERIFY_WITH_TIMEOUT(strip->isVisible(), patience);
        QTest::qWait(0);
        int buttons = 0;
        for (const auto* button : strip->findChildren<QToolButton*>()) buttons = std::max(buttons, button->height());
        const auto* layout = static_cast<QBoxLayout*>(strip->layout());
        const int words = text->heightForWidth(text->width()), margins = 12;
        const bool is_beside = layout->direction() == QBoxLayout::LeftToRight;
        const int wanted = margins + (is_beside ? std::max(words, buttons) : words + layout->spacing() + buttons);
        QVERIFY2(strip->height() <= wanted + 4, qPrintable(QString("%1 for %2").arg(strip->height()).arg(wanted)));
      }
    }
  }

  void a_mesh_larger_than_the_machine_is_fixed_by_more_nodes_or_a_size_that_fits() {
    RunConfig config = made::small_gpt(1, 4, 2);
    config.machine = R"({"name": "dgx_h100", "nodes": 1})";
    open_window(compiled_plans(), config);
    set_axis_size(document(), 0, 8);
    settle();
    auto* strip = window_->findChild<ProblemStrip*>();
    QTRY_VERIFY_WITH_TIMEOUT(strip->isVisible(), patience);
    QVERIFY(strip->findChild<QLabel*>("banner")->text().contains("machine.nodes"));
    const auto offered = [&](const QString& text) -> QToolButton* {
      for (auto* button : strip->findChildren<QToolButton*>())
        if (button->text() == text && button->isVisible()) return button;
      return nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(offered("batch = 4"), patience);
    QVERIFY(!offered("batch = 8"));
    QVERIFY(offered("nodes = 2"));
    for (const int width : {800, 1100, 1600}) {
      window_->resize(width, 700);
      QTRY_COMPARE_WITH_TIMEOUT(window_->width(), width, patience);
      for (auto* button : strip->findChildren<QToolButton*>())
        if (button->isVisible()) QTRY_VERIFY_WITH_TIMEOUT(button->width() >= button->sizeHint().width(), patience);
      QVERIFY(offered("nodes = 2"));
    }
    offered("nodes = 2")->click();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(planner().plan()->mesh.device_count(), 16);
    document().undo_stack().undo();
    QCOMPARE(document().config().machine, config.machine);
  }

  void sizes_are_offered_of_the_config_that_is_shown_alone() {
    std::counting_semaphore<> allowed(0);
    PlanSource slow = made::source();
    slow.plan = [&](const RunConfig& config, std::stop_token stop) {
      if (config.steps == 99 && config.mesh_axes[0].size != 3) allowed.acquire();
      return made::plan(config, stop);
    };
    close_window();
    open_window(slow, made::config());
    set_axis_size(document(), 0, 3);
    settle();
    auto* strip = window_->findChild<ProblemStrip*>();
    const auto offers = [&] {
      return std::ranges::count_if(strip->findChildren<QToolButton*>(), [](const QToolButton* button) {
        return button->isVisible() && button->text().startsWith("data =");
      });
    };
    QTRY_VERIFY_WITH_TIMEOUT(offers() > 0, patience);
    set_steps(document(), 99);
    settle();
    QTRY_COMPARE_WITH_TIMEOUT(offers(), std::ptrdiff_t{0}, patience);
    allowed.release(1000);
    QTRY_VERIFY_WITH_TIMEOUT(offers() > 0, patience);
    close_window();
    open_window(made::source(), made::config());
  }

  void the_arrows_of_a_size_go_from_one_legal_size_to_the_next() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    LegalSizes& sizes = window_->mesh_bar()->legal_sizes();
    QTRY_VERIFY_WITH_TIMEOUT(sizes.of(0), patience);
    QVERIFY(data->toolTip().contains("data may be 1, 2, 4, 8"));
    const auto all = *sizes.of(0);
    for (const int64_t size : all) QVERIFY(64 % size == 0);
    QTest::keyClick(data, Qt::Key_Up);
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{8});
    QTest::keyClick(data, Qt::Key_Up);
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{16});
    for (int i = 0; i < 3; ++i) QTest::keyClick(data, Qt::Key_Down);
    QCOMPARE(document().config().mesh_axes[0].size, int64_t{2});
    QCOMPARE(document().undo_stack().count(), 1);
    for (int i = 0; i < 9; ++i) QTest::keyClick(data, Qt::Key_Up);
    QCOMPARE(document().config().mesh_axes[0].size, all.back());
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void legal_sizes_are_those_that_can_be_planned_and_stale_ones_are_dropped() {
    LegalSizes sizes(made::source());
    auto config = std::make_shared<RunConfig>(made::config());
    sizes.request(config, 1);
    QTRY_VERIFY_WITH_TIMEOUT(sizes.of(1), patience);
    const std::vector<int64_t> legal = *sizes.of(1);
    for (const int64_t size : legal) {
      RunConfig with = *config;
      with.mesh_axes[1].size = size;
      made::plan(with);
    }
    QVERIFY(std::ranges::count(legal, 3) == 0);
    QCOMPARE(*sizes.next(1, 3, true), int64_t{4});
    QCOMPARE(*sizes.next(1, 3, false), int64_t{2});
    QCOMPARE(*sizes.next(1, 1, false), int64_t{1});
    auto other = std::make_shared<RunConfig>(made::config());
    other->mesh_axes[1].size = 8;
    sizes.request(other, 1);
    QVERIFY(sizes.of(1));  // an axis's own size changes nothing of it
    auto third = std::make_shared<RunConfig>(made::config());
    third->mesh_axes[0].size = 2;
    sizes.request(third, 1);
    QVERIFY(!sizes.of(1));
    QCOMPARE(sizes_text({2, 4, 8}), QString("2, 4 or 8"));
    QCOMPARE(sizes_text({2}), QString("2"));
  }

  void legal_sizes_go_as_far_as_an_axis_may_and_there_are_hosts_for_them() {
    PlanSource any = made::source();
    any.check = [](const RunConfig&) { return std::vector<Error>(); };
    LegalSizes sizes(any);
    const auto config = std::make_shared<RunConfig>(made::config());
    sizes.request(config, 0);
    QTRY_VERIFY_WITH_TIMEOUT(sizes.of(0), patience);
    QCOMPARE(*sizes.next(0, 4096, true), int64_t{8192});
    QCOMPARE(sizes.of(0)->back(), LegalSizes::largest);

    LegalSizes planned(compiled_plans());
    const auto preset = std::make_shared<RunConfig>(load_preset(default_preset));
    planned.request(preset, 0);
    QTRY_VERIFY_WITH_TIMEOUT(planned.of(0), patience);
    QVERIFY(planned.of(0)->back() > 4);
    const auto on_hosts = std::make_shared<RunConfig>(*preset);
    on_hosts->hosts = "h0:4,h1:4";
    planned.request(on_hosts, 0);
    QVERIFY(!planned.of(0));
    QTRY_VERIFY_WITH_TIMEOUT(planned.of(0), patience);
    QCOMPARE(planned.of(0)->back(), int64_t{4});
  }

  void every_page_and_list_has_a_context_menu() {
    const auto texts = [](const QList<QAction*>& actions) {
      QStringList texts;
      for (const QAction* action : actions) texts << action->text().remove('&');
      return texts;
    };
    const auto* pages = window_->findChild<QTabWidget*>("pages");
    for (int i = 0; i < pages->count(); ++i) {
      const QWidget* page = pages->widget(i);
      QCOMPARE(page->contextMenuPolicy(), Qt::ActionsContextMenu);
      QVERIFY2(texts(page->actions()).contains("Copy picture"), qPrintable(pages->tabText(i)));
    }
    for (const char* name : {"problems", "rules"}) {
      const auto* list = window_->findChild<QAbstractItemView*>(name);
      QVERIFY2(list && list->contextMenuPolicy() == Qt::ActionsContextMenu && !list->actions().isEmpty(), name);
    }
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    QStringList offered;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
      if (!menu) return;
      offered = texts(menu->actions());
      menu->close();
    });
    timer.start(5);
    const QPoint at = tree->visualRect(tree->model()->index(0, 0)).center();
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, tree->viewport()->mapToGlobal(at));
    QApplication::sendEvent(tree->viewport(), &event);
    QVERIFY2(offered.size() > 4, qPrintable(offered.join(", ")));
    QVERIFY2(offered.filter("spec", Qt::CaseInsensitive).size() >= 2, qPrintable(offered.join(", ")));
  }

  void the_tour_lights_each_part_and_ends() {
    QTest::keyClick(window_.get(), Qt::Key_F1, Qt::ShiftModifier);
    auto* tour = window_->findChild<Tour*>();
    QVERIFY(tour->isVisible() && tour->at() == 0);
    auto* note = tour->findChild<QFrame*>("tourNote");
    for (const QSize& size : {QSize(900, 600), QSize(1280, 800)}) {
      window_->resize(size);
      for (int stop = tour->at(); stop + 1 < tour->stops(); ++stop) {
        QCOMPARE(tour->at(), stop);
        QTRY_VERIFY_WITH_TIMEOUT(tour->rect().contains(note->geometry()), patience);
        QTest::keyClick(tour, Qt::Key_Right);
      }
      while (tour->at() > 0) QTest::keyClick(tour, Qt::Key_Left);
    }
    for (int stop = 0; stop < tour->stops(); ++stop) tour->findChild<QPushButton*>("tourNext")->click();
    QVERIFY(!tour->isVisible());
    tour->start();
    QTest::mouseClick(tour, Qt::LeftButton, {}, tour->rect().center());
    QVERIFY(window_->focusWidget());
    QTest::keyClick(window_->focusWidget(), Qt::Key_Tab);
    QTest::keyClick(window_->focusWidget(), Qt::Key_Escape);
    QVERIFY(!tour->isVisible());
    QVERIFY(document().config() == made::config());
  }

  void the_tour_ends_where_it_began() {
    window_->show_page("memory");
    window_->findChild<QDockWidget*>("settings")->raise();
    auto* settings = window_->findChild<SettingsPanel*>();
    QTRY_VERIFY_WITH_TIMEOUT(!settings->visibleRegion().isEmpty(), patience);
    const auto* pages = window_->findChild<QTabWidget*>("pages");
    const int page = pages->currentIndex(), bottom = window_->findChild<QDockWidget*>("run")->height();
    auto* tour = window_->findChild<Tour*>();
    for (const bool to_its_end : {true, false}) {
      QTest::keyClick(window_.get(), Qt::Key_F1, Qt::ShiftModifier);
      QVERIFY(tour->isVisible());
      for (int stop = 0; stop + 2 < tour->stops(); ++stop) QTest::keyClick(tour, Qt::Key_Right);
      QVERIFY(pages->currentIndex() != page);
      if (to_its_end)
        while (tour->isVisible()) QTest::keyClick(tour, Qt::Key_Right);
      else QTest::keyClick(tour, Qt::Key_Escape);
      QVERIFY(!tour->isVisible());
      QCOMPARE(pages->currentIndex(), page);
      QTRY_VERIFY_WITH_TIMEOUT(!settings->visibleRegion().isEmpty(), patience);
      QTRY_COMPARE_WITH_TIMEOUT(window_->findChild<QDockWidget*>("run")->height(), bottom, patience);
    }
  }

  void about_has_versions_that_can_be_copied() {
    QTimer timer;
    bool seen = false;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
      if (!dialog || seen) return;
      seen = true;
      for (auto* button : dialog->findChildren<QPushButton*>())
        if (button->text().contains("versions")) button->click();
      dialog->reject();
    });
    timer.start(5);
    window_->findChild<QAction*>("about")->trigger();
    QVERIFY(seen);
    const QString copied = QGuiApplication::clipboard()->text();
    for (const QString& part : {QString("Qt ") + qVersion(), QString("GCC"), QString("/nowhere/shardrun")})
      QVERIFY2(copied.contains(part), qPrintable(copied));
  }

  void icons_are_sharp_on_dense_screens() {
    for (const double ratio : {1.0, 1.5, 2.0, 3.0})
      for (const int side : {16, 18, 24}) {
        const QPixmap seen = themed_icon("open").pixmap(QSize(side, side), ratio);
        QVERIFY(seen.width() >= std::lround(side * ratio));
      }
  }
};

REGISTER_WINDOW_TEST(HabitsTest)

}  // namespace habits_test

#include "habits_test.moc"
