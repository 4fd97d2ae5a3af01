#include <QAbstractItemView>
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QTest>

#include "gui/help/help_window.h"
#include "gui/look/key_help.h"
#include "gui/panels/mesh_dialog.h"
#include "gui/search/search_page.h"
#include "gui/window/new_run_dialog.h"
#include "gui/window/presets.h"
#include "gui/window/shortcut_list.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace keyboard_test {

using namespace shardscope;

// The window without a mouse: where the keyboard is, and how it gets on.
class KeyboardTest : public WindowCase {
  Q_OBJECT

  QTabWidget& pages() { return *window_->findChild<QTabWidget*>("pages"); }
  static QWidget* has_keyboard() { return QApplication::focusWidget(); }
  static bool is_within(const QWidget* widget, const QWidget* whole) {
    return widget && (widget == whole || whole->isAncestorOf(widget));
  }
  void show_page(int page) { QTest::keySequence(window_.get(), QKeySequence(QString("Ctrl+%1").arg(page + 1))); }
  static bool has_keys(const QWidget* widget) { return widget && !key_help_of(*widget).isEmpty(); }

  static QString whereabouts(const QWidget* widget) {
    QStringList path;
    for (const QWidget* at = widget; at; at = at->parentWidget())
      path << QString("%1 %2").arg(at->metaObject()->className(), at->objectName());
    return path.mid(0, 4).join(" in ");
  }

  static void verify_tab_leaves(QWidget& whole) {
    for (QWidget* part : whole.findChildren<QWidget*>()) part->ensurePolished();
    for (auto* view : whole.findChildren<QAbstractItemView*>()) {
      QVERIFY2(!view->tabKeyNavigation(), qPrintable(whereabouts(view)));
      if (!view->isVisible() || !view->isEnabled() || !view->window()->isActiveWindow()) continue;
      for (const Qt::Key key : {Qt::Key_Tab, Qt::Key_Backtab}) {
        view->setFocus();
        if (!view->hasFocus()) break;
        QTest::keyClick(view, key);
        QVERIFY2(!is_within(has_keyboard(), view), qPrintable(whereabouts(view)));
      }
    }
  }

 private slots:
  void initTestCase() { prepare(); }
  void init() { open_window(made::source(), made::config(), {1280, 800}); }
  void cleanup() { close_window(); }

  void tab_leaves_every_list_and_table() {
    selection().select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<QWidget*>("costs")->isVisible(), patience);
    for (auto* dock : window_->findChildren<QDockWidget*>()) {
      dock->show();
      dock->raise();
    }
    for (int page = 0; page < pages().count(); ++page) {
      pages().setCurrentIndex(page);
      QTest::qWait(0);
      verify_tab_leaves(*window_);
      if (QTest::currentTestFailed()) return;
    }
    NewRunDialog new_run(window_.get());
    MeshDialog mesh(made::config(), window_.get());
    HelpWindow help(window_.get());
    ShortcutList keys(*window_);
    for (QDialog* dialog : std::initializer_list<QDialog*>{&new_run, &mesh, &help, &keys}) {
      dialog->show();
      dialog->activateWindow();
      QVERIFY(QTest::qWaitForWindowActive(dialog));
      verify_tab_leaves(*dialog);
      dialog->close();
    }
  }

  void a_page_that_its_key_shows_has_the_keyboard_data() {
    QTest::addColumn<bool>("has_pipeline");
    QTest::newRow("without a pipeline") << false;
    QTest::newRow("with a pipeline") << true;
  }
  void a_page_that_its_key_shows_has_the_keyboard() {
    QFETCH(bool, has_pipeline);
    if (has_pipeline) open_window(compiled_plans(), made::piped_gpt(2, 2, 1, 2), {1280, 800});
    auto* filter = window_->findChild<QLineEdit*>("filter");
    QVERIFY(filter);
    for (int page = 0; page < pages().count(); ++page) {
      filter->setFocus();
      show_page(page);
      QCOMPARE(pages().currentIndex(), page);
      const QString where = pages().tabText(page) + ": " + whereabouts(has_keyboard());
      QVERIFY2(is_within(has_keyboard(), pages().currentWidget()), qPrintable(where));
      bool has_own_keys = false;
      for (const QWidget* part : pages().currentWidget()->findChildren<QWidget*>())
        has_own_keys |= part->isVisible() && part->focusPolicy() != Qt::NoFocus && has_keys(part);
      QVERIFY2(!has_own_keys || has_keys(has_keyboard()), qPrintable(where));
    }
  }

  void what_was_found_is_walked_taken_and_undone_by_keys_alone() {
    RunConfig config = load_preset("llama_tiny");
    config.machine = "\"dgx_h100\"";
    config.mesh_axes = {{"data", 2}, {"model", 2}};
    open_window(compiled_plans(), config, {1280, 800});
    const int page = pages().count() - 1;
    show_page(page);
    const auto* search = window_->findChild<SearchPage*>();
    window_->findChild<QLineEdit*>("search_pipeline")->setText("1");
    window_->findChild<QSpinBox*>("searchDevices")->setValue(8);
    window_->findChild<QLineEdit*>("search_microbatch_size")->setText("2");
    window_->findChild<QComboBox*>("search_recompute")->setCurrentText("none");
    window_->findChild<QPushButton*>("searchStart")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!search->search().is_running() && search->search().result(), patience);
    show_page(0);
    show_page(page);
    const auto* table = window_->findChild<QTableView*>("searchTable");
    QTest::keyClick(has_keyboard(), Qt::Key_Right);
    QVERIFY(table->currentIndex().isValid());
    for (QWidget* from :
         {has_keyboard(), window_->findChild<QWidget*>("searchTable"), window_->findChild<QWidget*>("searchTake")}) {
      from->setFocus();
      QTest::keyClick(from, qobject_cast<QPushButton*>(from) ? Qt::Key_Space : Qt::Key_Return);
      QVERIFY(document().config().strategy);
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QVERIFY2(has_keyboard() == from, qPrintable(whereabouts(has_keyboard())));
      QTest::keySequence(window_.get(), QKeySequence("Ctrl+Z"));
      QVERIFY(document().config() == config);
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QVERIFY2(has_keyboard() == from, qPrintable(whereabouts(has_keyboard())));
    }
  }
};

REGISTER_WINDOW_TEST(KeyboardTest)

}  // namespace keyboard_test

#include "keyboard_test.moc"
