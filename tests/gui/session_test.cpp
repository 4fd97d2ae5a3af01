#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeView>

#include "engine/config/write.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/window/last_session.h"
#include "gui/window/session_keeper.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace session_test {

using namespace shardscope;

// What outlives the program: unsaved edits, and what was open.
class SessionTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;

  static std::unique_ptr<SessionKeeper> keeper_of(Document& document, const QString& folder) {
    return std::make_unique<SessionKeeper>(document, folder, std::chrono::milliseconds(1));
  }
  // Waits until the newest edit is on the disk.
  static void wait_for(SessionKeeper& keeper, const Document& document) {
    QTRY_VERIFY_WITH_TIMEOUT(
        [&] {
          keeper.wait_until_written();
          QFile file(keeper.file());
          if (!file.open(QIODevice::ReadOnly)) return false;
          const auto kept = unsaved_edits(file.readAll());
          return kept && kept->after == document.config();
        }(),
        patience);
  }
  // A document whose newest edit, 7 steps, is kept.
  std::unique_ptr<SessionKeeper> keep_edits(Document& document) {
    document.reset(made::config(), {});
    auto keeper = keeper_of(document, folder_->path());
    set_steps(document, 7);
    wait_for(*keeper, document);
    return keeper;
  }
  // As a program that ended without a word leaves them.
  void leave_edits() {
    Document document;
    keep_edits(document);
  }
  // Presses the button of the next message box that has this text.
  static int answer(const QString& button, const std::function<void()>& act) {
    int asked = 0;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box || asked) return;
      ++asked;
      for (QAbstractButton* one : box->buttons())
        if (one->text().remove('&') == button) return one->click();
      box->reject();
    });
    timer.start(5);
    act();
    return asked;
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    QCoreApplication::setOrganizationName("shardscope-tests");
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_->path());
    QSettings().clear();
  }

  void unsaved_edits_outlive_the_program_also_where_they_are_not_legal() {
    Document document;
    document.reset(made::config(), "/somewhere/run.json");
    auto keeper = keeper_of(document, folder_->path());
    QVERIFY(keeper->take_left().empty());
    for (const int size : {2, 0}) {
      set_axis_size(document, 0, size);
      document.close_edit();
      wait_for(*keeper, document);
    }
    keeper.reset();  // the program is killed: nothing more is said

    Document next;
    auto other = keeper_of(next, folder_->path());
    const auto left = other->take_left();
    QCOMPARE(left.size(), size_t{1});
    QCOMPARE(left[0].edits.title, QString("run.json"));
    QCOMPARE(left[0].edits.path, QString("/somewhere/run.json"));
    QVERIFY(left[0].edits.before == made::config());
    QVERIFY(left[0].edits.after == document.config());
    QVERIFY(left[0].edits.when.isValid());
  }

  void what_a_living_program_keeps_is_not_offered_to_another() {
    Document document;
    auto keeper = keep_edits(document);
    Document next;
    auto other = keeper_of(next, folder_->path());
    QVERIFY(other->take_left().empty());
    keeper.reset();
    QCOMPARE(other->take_left().size(), size_t{1});
    QVERIFY(keeper_of(next, folder_->path())->take_left().empty());  // `other` has it
  }

  void nothing_is_kept_of_a_document_without_unsaved_edits() {
    Document document;
    auto keeper = keep_edits(document);
    document.save(folder_->filePath("saved.json"));
    keeper->wait_until_written();
    QVERIFY(!QFileInfo::exists(keeper->file()));
    set_steps(document, 8);
    wait_for(*keeper, document);
    QFile file(keeper->file());
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(unsaved_edits(file.readAll())->before.steps, int64_t{7});
    document.undo_stack().undo();
    keeper->wait_until_written();
    QVERIFY(!QFileInfo::exists(keeper->file()));
  }

  void what_is_no_file_of_ours_is_passed_over() {
    QFile file(folder_->filePath("broken.unsaved"));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("{\"format\": \"shardscope unsaved") > 0);
    file.close();
    Document document;
    QVERIFY(keeper_of(document, folder_->path())->take_left().empty());
    QVERIFY(!unsaved_edits("") && !unsaved_edits("[]") && !unsaved_edits("{\"format\": \"other\"}"));
    QVERIFY(QFileInfo::exists(file.fileName()));
  }

  void a_folder_that_cannot_be_written_costs_nothing_else() {
    Document document;
    document.reset(made::config(), {});
    auto keeper = keeper_of(document, "/proc/nowhere");
    set_steps(document, 7);
    QVERIFY(!keeper->keep_now());
    QCOMPARE(document.config().steps, int64_t{7});
    QVERIFY(keeper->take_left().empty());
  }

  void restored_edits_are_an_edit_that_can_be_undone() {
    {
      Document document;
      document.reset(made::config(), {}, "draft.json");
      auto keeper = keeper_of(document, folder_->path());
      set_steps(document, 7);
      wait_for(*keeper, document);
    }
    MainWindow window(made::source(), "/nowhere/shardrun");
    window.workspace().document.reset({}, {});
    window.show();
    QCOMPARE(answer("Later", [&] { QVERIFY(!window.keep_session(folder_->path())); }), 1);
    QCOMPARE(answer("Restore", [&] { QVERIFY(window.keep_session(folder_->path())); }), 1);
    Document& document = window.workspace().document;
    QCOMPARE(document.config().steps, int64_t{7});
    QCOMPARE(document.title(), QString("draft.json"));
    QVERIFY(document.is_modified());
    document.undo_stack().undo();
    QVERIFY(document.config() == made::config());
    QCOMPARE(answer("Later", [&] { window.keep_session(folder_->path()); }), 0);  // nothing is left
  }

  void edits_that_are_thrown_away_are_not_offered_again() {
    leave_edits();
    MainWindow window(made::source(), "/nowhere/shardrun");
    QCOMPARE(answer("Throw away", [&] { QVERIFY(!window.keep_session(folder_->path())); }), 1);
    QCOMPARE(answer("Later", [&] { window.keep_session(folder_->path()); }), 0);
  }

  void the_last_edit_before_an_end_is_kept() {
    Document document;
    document.reset(made::config(), {});
    auto keeper = std::make_unique<SessionKeeper>(document, folder_->path(), std::chrono::hours(1));
    set_steps(document, 7);
    keeper.reset();
    Document next;
    const auto left = keeper_of(next, folder_->path())->take_left();
    QCOMPARE(left.size(), size_t{1});
    QCOMPARE(left[0].edits.after.steps, int64_t{7});
  }

  void restored_edits_are_kept_anew_before_those_that_were_left_go() {
    leave_edits();
    MainWindow window(made::source(), "/nowhere/shardrun");
    QCOMPARE(answer("Restore", [&] { QVERIFY(window.keep_session(folder_->path())); }), 1);
    const QStringList kept = QDir(folder_->path()).entryList({"*.unsaved"}, QDir::Files);
    QCOMPARE(kept.size(), 1);
    QFile file(folder_->filePath(kept[0]));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto edits = unsaved_edits(file.readAll());
    QVERIFY(edits && edits->after.steps == 7);
  }

  void what_is_typed_and_not_ended_is_saved_and_asked_for() {
    const QString path = folder_->filePath("typed.json");
    save_run_config(made::config(), path.toStdString());
    MainWindow window(made::source(), "/nowhere/shardrun");
    window.keep_session(folder_->filePath("unsaved"));
    QVERIFY(window.files().open_file(path));
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
    const ParameterRef bias{{"params", "Dense_0", "bias"}};
    window.workspace().selection.select_array(bias);
    SpecField* field = window.inspector()->spec_field();
    const auto type = [&](const QString& text) {
      field->setFocus();
      field->selectAll();
      QTest::keyClicks(field, text);
    };
    type("P('model',)");
    window.findChild<QAction*>("save")->trigger();
    Document saved;
    saved.load(path);
    QVERIFY((spec_of(saved.config(), bias) == PartitionSpec{{{"model"}}}));
    QVERIFY(field->hasFocus() && !window.workspace().document.is_modified());
    type("P('data',)");
    QCOMPARE(answer("Cancel", [&] { QVERIFY(!window.close()); }), 1);
    QVERIFY((spec_of(window.workspace().document.config(), bias) == PartitionSpec{{{"data"}}}));
    QCOMPARE(answer("Discard", [&] { QVERIFY(window.close()); }), 1);
    QVERIFY(QDir(folder_->filePath("unsaved")).entryList({"*.unsaved"}, QDir::Files).isEmpty());
  }

  void closing_the_window_leaves_nothing_and_remembers_what_was_open() {
    const QString path = folder_->filePath("open.json");
    save_run_config(made::config(), path.toStdString());
    {
      MainWindow window(made::source(), "/nowhere/shardrun");
      window.remember_arrangement();
      window.keep_session(folder_->filePath("unsaved"));
      QVERIFY(window.files().open_file(path));
      window.show();
      QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
      window.show_page("memory");
      window.workspace().selection.select_array(ParameterRef{{"params", "Dense_0", "bias"}});
      set_steps(window.workspace().document, 7);
      QCOMPARE(answer("Discard", [&] { QVERIFY(window.close()); }), 1);
    }
    Document document;
    QVERIFY(keeper_of(document, folder_->filePath("unsaved"))->take_left().empty());
    MainWindow again(made::source(), "/nowhere/shardrun");
    QVERIFY(again.restore_session());
    again.show();
    QCOMPARE(again.workspace().document.path(), path);
    QCOMPARE(again.workspace().document.config().steps, made::config().steps);
    const auto* pages = again.findChild<QTabWidget*>("pages");
    QCOMPARE(pages->tabText(pages->currentIndex()).remove('&'), QString("Memory"));
    QTRY_VERIFY_WITH_TIMEOUT(
        again.workspace().selection.array() == ArrayRef(ParameterRef{{"params", "Dense_0", "bias"}}), patience);
    QFile::remove(path);
    QVERIFY(last_session().path.isEmpty());
  }

  void a_run_file_that_is_dropped_is_opened_and_other_things_are_not() {
    const QString path = folder_->filePath("dropped.json");
    save_run_config(made::config(), path.toStdString());
    MainWindow window(made::source(), "/nowhere/shardrun");
    window.workspace().document.reset({}, {});
    window.show();
    const auto drop = [&](const QList<QUrl>& urls) {
      QMimeData data;
      data.setUrls(urls);
      QDragEnterEvent enter({200, 200}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
      QCoreApplication::sendEvent(&window, &enter);
      if (!enter.isAccepted()) return false;
      QDropEvent event(QPointF(200, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
      QCoreApplication::sendEvent(&window, &event);
      return true;
    };
    QVERIFY(!drop({QUrl("https://somewhere/run.json")}));
    QVERIFY(!drop({QUrl::fromLocalFile(path), QUrl::fromLocalFile(path)}));
    QVERIFY(drop({QUrl::fromLocalFile(path)}));
    QCOMPARE(window.workspace().document.path(), path);
    QVERIFY(drop({QUrl::fromLocalFile("/nowhere/run.json")}));  // is said
    QCOMPARE(window.workspace().document.path(), path);
    QVERIFY(window.findChild<QTreeWidget*>("problems")->topLevelItemCount() > 0);
    // A folder without a model changes nothing; its fault is a problem.
    const RunConfig kept = window.workspace().document.config();
    QVERIFY(drop({QUrl::fromLocalFile(folder_->path())}));
    QVERIFY(window.workspace().document.config() == kept);
    QCOMPARE(window.workspace().document.path(), path);
    QVERIFY(window.findChild<QTreeWidget*>("problems")->topLevelItemCount() > 0);
    // A folder with a model, or its config.json, becomes a run file that nothing has stored.
    const QString model = SHARDSCOPE_SOURCE_DIR "/presets/models/llama_tiny";
    for (const QString& dropped : {model, model + "/config.json"}) {
      window.workspace().document.reset({}, {});
      QVERIFY(drop({QUrl::fromLocalFile(dropped)}));
      const RunConfig& config = window.workspace().document.config();
      QCOMPARE(config.model.name, std::string("huggingface"));
      QCOMPARE(*config.model.find("path"), OptionValue(model.toStdString()));
      QVERIFY(window.workspace().document.path().isEmpty());
      QCOMPARE(window.workspace().document.title(), QString("llama_tiny.json"));
      QVERIFY(validate(config).empty());
      window.workspace().document.reset({}, {});
    }
  }
};

REGISTER_WINDOW_TEST(SessionTest)

}  // namespace session_test

#include "session_test.moc"
