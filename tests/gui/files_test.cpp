#include <sys/stat.h>

#include <QAbstractButton>
#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPointer>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace files_test {

using namespace shardscope;

// Opening, saving and closing, through the dialogs that a person sees.
class FilesTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  Planner& planner() { return window_->workspace().planner; }
  Document& document() { return window_->workspace().document; }

  // Acts on the modal dialogs that `open` brings up, one after the other, each as soon as it is there.
  using Answer = std::function<void(QWidget*)>;
  static int answer(const std::vector<Answer>& answers, const std::function<void()>& open) {
    size_t given = 0;
    QPointer<QWidget> last;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      QWidget* dialog = QApplication::activeModalWidget();
      if (!dialog || dialog == last) return;
      last = dialog;
      if (given < answers.size()) {
        answers[given++](dialog);
      } else {
        static_cast<QDialog*>(dialog)->reject();
        given = answers.size() + 1;
      }
    });
    timer.start(5);
    open();
    return static_cast<int>(given);
  }
  static Answer press(QMessageBox::StandardButton button) {
    return [button](QWidget* dialog) {
      auto* box = qobject_cast<QMessageBox*>(dialog);
      QVERIFY(box && box->button(button));
      box->button(button)->click();
    };
  }
  static Answer choose(const QString& path) {
    return [path](QWidget* dialog) {
      QVERIFY(qobject_cast<QFileDialog*>(dialog));
      dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path);
      QTest::keyClick(dialog->findChild<QLineEdit*>("fileNameEdit"), Qt::Key_Return);
    };
  }

  QString write(const QString& name, const QByteArray& text) {
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("no room for test files");
    return file.fileName();
  }

 private slots:
  void initTestCase() {
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QCoreApplication::setOrganizationName("shardscope-tests");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path());
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), "/nowhere/shardrun");
    window_->files().open_preset(default_preset);
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void cleanup() { window_.reset(); }

  void a_wrong_file_shows_all_its_errors_and_changes_nothing() {
    const RunConfig before = document().config();
    const std::shared_ptr<const Plan> good = planner().plan();
    auto* problems = window_->findChild<QTreeWidget*>("problems");
    const std::pair<QByteArray, std::vector<const char*>> files[] = {
        {"{\"model\": {\"name\": \"nope\"}, \"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 0}]}, \"colour\": 3}",
         {"colour", "sharding", "data", "seed", "steps", "size 0", "nope"}},
        {"{\"model\": ", {"ends too early"}},
        {"", {"empty"}},
        {"no json at all", {"syntax"}}};
    int number = 0;
    for (const auto& [text, words] : files) {
      const QString path = write(QString("wrong%1.json").arg(number++), text);
      QCOMPARE(answer({choose(path)}, [&] { window_->files().choose_file(); }), 1);
      QString shown;
      for (int i = 0; i < problems->topLevelItemCount(); ++i)
        shown += problems->topLevelItem(i)->text(0) + " " + problems->topLevelItem(i)->text(1) + "\n";
      for (const char* word : words) QVERIFY2(shown.contains(word), qPrintable(QString(word) + " not in\n" + shown));
      QVERIFY(shown.contains(QFileInfo(path).fileName()));
      QVERIFY(problems->isVisible());
      QVERIFY(document().config() == before);
      QCOMPARE(planner().plan(), good);
      QVERIFY(planner().is_current());
    }
    QVERIFY(!window_->files().open_file("/nowhere/run.json"));
  }

  // Opens a config from a file by the dialog.
  void open(const RunConfig& config, const QString& name) {
    const QString path = folder_.filePath(name);
    save_run_config(config, path.toStdString());
    QCOMPARE(answer({choose(path)}, [&] { window_->files().choose_file(); }), 1);
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
  }

  void a_file_that_cannot_be_planned_shows_nothing_of_the_one_before_and_can_be_fixed() {
    RunConfig config = document().config();
    config.mesh_axes[0].size = 3;
    open(config, "indivisible.json");
    QVERIFY(!planner().errors().empty());
    QVERIFY(!planner().plan());
    const QString verdict = window_->verdict()->text();
    QVERIFY2(verdict.contains("problem") && !verdict.contains("last good") && !verdict.contains('|'),
             qPrintable(verdict));
    QVERIFY(!window_->findChild<QLabel*>("banner")->text().contains("last good"));
    for (const QLabel* label : window_->inspector()->findChildren<QLabel*>())
      QVERIFY2(!label->isVisible() || !label->text().contains("Per device"), qPrintable(label->text()));
    for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
      QVERIFY(window_->show_page(page));
      QVERIFY(!window_->grab().isNull());
    }
    QCOMPARE(window_->findChild<QTreeView*>("collectives")->model()->rowCount(), 0);
    set_axis_size(document(), 0, 4);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void a_misspelt_axis_marks_the_spec_that_names_it_and_no_field_of_the_mesh() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    data->stepUp();  // an error of the mesh before it
    QTRY_VERIFY_WITH_TIMEOUT(data->property("invalid").toBool(), patience);
    document().undo_stack().setClean();
    const ParameterRef embedding{{"params", "Embed_0", "embedding"}};
    RunConfig config = document().config();
    config.mesh_axes[0].size = 4;
    set_parameter_spec(config.sharding, embedding.path, {{{"dta"}, {"model"}}});
    open(config, "misspelt.json");
    QVERIFY(!planner().errors().empty());
    for (int axis = 0; axis < window_->mesh_bar()->field_count(); ++axis)
      QVERIFY(!window_->mesh_bar()->field(axis)->property("invalid").toBool());
    window_->workspace().selection.select_array(embedding);
    QVERIFY(window_->inspector()->spec_editor()->field(0)->property("invalid").toBool());
    QVERIFY(!window_->inspector()->spec_editor()->field(1)->property("invalid").toBool());
  }

  void the_verdict_compares_a_plan_with_the_one_before_of_the_same_file_alone() {
    RunConfig config = document().config();
    config.mesh_axes[0].size = 2;
    open(config, "smaller.json");
    QVERIFY(planner().is_current());
    QVERIFY2(!window_->verdict()->text().contains('('), qPrintable(window_->verdict()->text()));
    set_axis_size(document(), 0, 4);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(window_->verdict()->text().contains('('));
  }

  void messages_have_a_place_of_their_own() {
    const QString verdict = window_->verdict()->text();
    QCOMPARE(answer({choose(folder_.filePath("message.json"))}, [&] { QVERIFY(window_->files().save_as()); }), 1);
    const auto* notice = window_->findChild<QLabel*>("notice");
    QVERIFY(notice->isVisible() && notice->toolTip().contains("message.json"));
    QVERIFY(window_->statusBar()->currentMessage().isEmpty());
    QVERIFY(!window_->menuBar()->cornerWidget());
    QVERIFY(notice->text().contains("message.json") && notice->height() >= notice->heightForWidth(notice->width()));
    QCOMPARE(window_->verdict()->text(), verdict);
    set_steps(document(), 9);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(notice->toolTip().contains("message.json"));
    const QRect place(notice->mapToGlobal(QPoint()), notice->size());
    for (const QLabel* label : window_->statusBar()->findChildren<QLabel*>())
      QVERIFY(!place.intersects(QRect(label->mapToGlobal(QPoint()), label->size())));
  }

  // What cannot be read is reported before the window has its size.
  void a_message_of_before_the_window_is_shown_has_its_place() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), "/nowhere/shardrun");
    QVERIFY(!window_->files().open_file(write("cut.json", "{")));
    window_->resize(1280, 800);
    window_->show();
    const auto* notice = window_->findChild<QLabel*>("notice");
    QTRY_VERIFY_WITH_TIMEOUT(notice->isVisible(), patience);
    const QRect pages = notice->parentWidget()->rect();
    QTRY_VERIFY_WITH_TIMEOUT(notice->geometry().bottom() > pages.height() / 2, patience);
    QVERIFY(pages.contains(notice->geometry()));
    QVERIFY(notice->width() >= notice->fontMetrics().horizontalAdvance(notice->text()));
  }

  void a_file_without_optimizer_is_shown_forward_alone() {
    RunConfig config = document().config();
    config.optimizer = {};
    const QString path = folder_.filePath("forward.json");
    save_run_config(config, path.toStdString());
    QVERIFY(window_->files().open_file(path));
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(!planner().plan()->trains());
    QStringList groups;
    for (const QLabel* label : window_->findChild<SettingsPanel*>()->findChildren<QLabel*>()) groups << label->text();
    const qsizetype optimizer = groups.indexOf("Optimizer");
    QVERIFY2(optimizer >= 0 && groups.value(optimizer + 1) == "none", qPrintable(groups.join(", ")));
    for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
      QVERIFY(window_->show_page(page));
      QVERIFY(!window_->grab().isNull());
    }
    const int last = planner().plan()->instructions().size() - 1;
    window_->workspace().selection.select_step(step_at(*planner().plan(), last));
    QVERIFY(find_step(*planner().plan(), window_->workspace().selection.step()));
    set_steps(document(), 3);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    document().save(path);
    QVERIFY(load_run_config(path.toStdString()).optimizer.name.empty());
  }

  void a_published_models_description_is_there() {
    for (const QString& name : published_preset_names()) {
      const RunConfig config = load_preset(name);
      const auto& path = std::get<std::string>(*config.model.find("path"));
      QVERIFY2(QFile::exists(qt(path + "/config.json")), path.c_str());
    }
    window_->files().open_preset("published/gpt2-xl");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(planner().errors().empty());
    QCOMPARE(planner().plan()->mesh.device_count(), 8);
    QVERIFY(document().path().isEmpty());
  }

  void a_text_that_a_preset_trains_on_is_there_and_is_named_from_where_the_file_is_saved() {
    window_->files().open_preset("tiny_text");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const auto path = [&] {
      return QString::fromStdString(std::get<std::string>(*document().config().data.find("path")));
    };
    QVERIFY2(QFileInfo(path()).isAbsolute() && QFile::exists(path()), qPrintable(path()));
    const QString text = folder_.filePath("text.txt"), file = folder_.filePath("text.json");
    QVERIFY(QFile::copy(path(), text));
    set_option(document(), OptionGroup::data, "path", text.toStdString());
    document().save(file);
    QCOMPARE(*load_run_config(file.toStdString()).data.find("path"), OptionValue(std::string("text.txt")));
    document().load(file);
    QCOMPARE(path(), text);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    set_option(document(), OptionGroup::data, "path", std::string("/nowhere/text.txt"));
    QTRY_VERIFY_WITH_TIMEOUT(!planner().errors().empty(), patience);
    QCOMPARE(planner().errors()[0].place.path, std::string("data.path"));
    document().undo_stack().setClean();
  }

  void what_is_saved_by_the_dialog_is_opened_by_the_dialog() {
    set_axis_size(document(), 0, 2);
    const QString path = folder_.filePath("mine");
    QCOMPARE(answer({choose(path)}, [&] { QVERIFY(window_->files().save()); }), 1);
    QCOMPARE(document().path(), path + ".json");
    QVERIFY(!document().is_modified());
    QVERIFY(!window_->isWindowModified());
    const RunConfig saved = document().config();
    QVERIFY(load_run_config((path + ".json").toStdString()) == saved);
    set_steps(document(), 77);
    QVERIFY(window_->isWindowModified());
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);
    QCOMPARE(load_run_config((path + ".json").toStdString()).steps, int64_t{77});
    window_->files().open_preset(default_preset);
    QVERIFY(document().path().isEmpty());
    QCOMPARE(answer({choose(path + ".json")}, [&] { window_->files().choose_file(); }), 1);
    QCOMPARE(document().config().steps, int64_t{77});
    QCOMPARE(document().title(), QString("mine.json"));
  }

  void a_draft_that_is_saved_keeps_the_history_of_its_runs() {
    QStandardPaths::setTestModeEnabled(true);
    window_->keep_history();
    RunControl& run = window_->workspace().run;
    window_->files().open_preset(default_preset);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const RunStore draft = run.store();
    const QString id = draft.add(*planner().plan(), {}, {}).id;
    const QString path = folder_.filePath("trained.json");
    QCOMPARE(answer({choose(path)}, [&] { QVERIFY(window_->files().save()); }), 1);
    QCOMPARE(run.store().folder(), RunStore::of(path, {}).folder());
    QCOMPARE(run.store().runs().size(), size_t{1});
    QCOMPARE(run.store().runs().at(0).id, id);
    QVERIFY(draft.runs().empty());
    auto* history = window_->findChild<QTableWidget*>("history");
    QCOMPARE(history->rowCount(), 1);
    for (const RunStore& store : {draft, run.store()}) QDir(store.folder()).removeRecursively();
  }

  void a_file_that_cannot_be_written_is_said_and_stays_unsaved() {
    set_steps(document(), 5);
    QCOMPARE(
        answer({choose("/proc/nowhere.json"), press(QMessageBox::Ok)}, [&] { QVERIFY(!window_->files().save_as()); }),
        2);
    QVERIFY(document().is_modified());
    QVERIFY(document().path().isEmpty());
  }

  static Answer press_named(const char* name) {
    return [name](QWidget* dialog) {
      auto* button = dialog->findChild<QPushButton*>(name);
      QVERIFY2(button && button->isEnabled(), name);
      button->click();
    };
  }
  static Answer press_text(const QString& text) {
    return [text](QWidget* dialog) {
      for (auto* button : dialog->findChildren<QPushButton*>())
        if (button->text().remove('&').startsWith(text)) return button->click();
      QFAIL(qPrintable("no button " + text));
    };
  }
  static QStringList rows_of(QWidget* dialog) {
    QStringList rows;
    const auto* tree = dialog->findChild<QTreeWidget*>("difference");
    for (int i = 0; tree && i < tree->topLevelItemCount(); ++i) {
      const QTreeWidgetItem* item = tree->topLevelItem(i);
      rows << item->text(0) + ": " + item->text(1) + " -> " + item->text(2) + " (" + item->text(3) + ")";
    }
    return rows;
  }
  static int64_t steps_in(const QString& path) { return load_run_config(path.toStdString()).steps; }
  static QByteArray bytes_of(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  // A file of the preset in 40 steps, opened.
  QString open_own(const QString& name) {
    const QString path = folder_.filePath(name);
    RunConfig config = document().config();
    config.steps = 40;
    save_run_config(config, path.toStdString());
    return window_->files().open_file(path) ? path : QString();
  }
  // As somebody else does it: by a new file in the place of the old one, or in the file itself.
  static void write_elsewhere(const QString& path, int64_t steps, bool replaces = true) {
    RunConfig config = load_run_config(path.toStdString());
    config.steps = steps;
    if (replaces) return save_run_config(config, path.toStdString());
    QFile file(path);
    const QByteArray text = QByteArray::fromStdString(write_run_config(config));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("no room for test files");
  }
  QWidget* bar() { return window_->findChild<QWidget*>("fileBar"); }
  QString bar_text() { return bar()->isVisible() ? window_->findChild<QLabel*>("fileText")->text() : QString(); }

  void what_somebody_else_has_written_is_not_overwritten_unasked() {
    const QString path = open_own("shared.json");
    for (const bool is_edited : {false, true}) {
      write_elsewhere(path, is_edited ? 51 : 50);
      if (is_edited) set_seed(document(), 9);
      const QByteArray theirs = bytes_of(path);
      QStringList rows;
      const Answer look = [&](QWidget* dialog) {
        rows = rows_of(dialog);
        static_cast<QDialog*>(dialog)->reject();
      };
      QCOMPARE(answer({look}, [&] { QVERIFY(!window_->files().save()); }), 1);
      QCOMPARE(bytes_of(path), theirs);
      QVERIFY2(rows.contains(QString("steps: %1 -> 40 (on disk)").arg(is_edited ? 51 : 50)),
               qPrintable(rows.join(", ")));
      QCOMPARE(rows.size(), is_edited ? 2 : 1);
      QVERIFY2(!is_edited || rows.contains("seed: 0 -> 9 (here)"), qPrintable(rows.join(", ")));
    }
    QCOMPARE(answer({press_named("overwriteFile")}, [&] { QVERIFY(window_->files().save()); }), 1);
    QCOMPARE(steps_in(path), int64_t{40});
    QVERIFY(!document().is_modified());
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);
  }

  void a_conflict_can_be_left_by_another_name() {
    const QString path = open_own("theirs.json"), other = folder_.filePath("other.json");
    set_seed(document(), 5);
    write_elsewhere(path, 60);
    QCOMPARE(answer({press_named("saveFileAs"), choose(other)}, [&] { QVERIFY(window_->files().save()); }), 2);
    QCOMPARE(steps_in(path), int64_t{60});
    QCOMPARE(steps_in(other), int64_t{40});
    QCOMPARE(document().path(), other);
  }

  void a_reload_takes_what_is_on_disk_and_undo_brings_back_what_was_not_saved() {
    const QString path = open_own("reloaded.json");
    set_seed(document(), 7);
    const RunConfig mine = document().config();
    write_elsewhere(path, 70);
    QCOMPARE(answer({press_named("reloadFile")}, [&] { QVERIFY(!window_->files().save()); }), 1);
    QCOMPARE(document().config().steps, int64_t{70});
    QVERIFY(!document().is_modified());
    document().undo_stack().undo();
    QVERIFY(document().config() == mine);
    QVERIFY(document().is_modified());
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);  // it is known what was there
    QCOMPARE(steps_in(path), int64_t{40});
    write_elsewhere(path, 71);
    auto* reload = window_->findChild<QAction*>("reload");
    QVERIFY(reload->isEnabled() && !reload->shortcut().isEmpty());
    QCOMPARE(answer({}, [&] { reload->trigger(); }), 0);
    QCOMPARE(document().config().steps, int64_t{71});
    window_->files().open_preset(default_preset);
    QVERIFY(!reload->isEnabled());
  }

  void a_change_on_disk_is_reported_without_a_question_and_taken_by_a_click() {
    const QString path = open_own("watched.json");
    int64_t steps = 80;
    for (const bool replaces : {true, false, true}) {  // also after one that was replaced
      QVERIFY(bar_text().isEmpty());
      write_elsewhere(path, ++steps, replaces);
      QTRY_VERIFY_WITH_TIMEOUT(bar_text().contains("changed on disk"), patience);
      QCOMPARE(document().config().steps, replaces && steps == 81 ? int64_t{40} : steps - 1);
      QVERIFY(window_->findChild<QToolButton*>("reloadNow")->isVisible());
      window_->findChild<QToolButton*>("reloadNow")->click();
      QCOMPARE(document().config().steps, steps);
      QTRY_VERIFY_WITH_TIMEOUT(bar_text().isEmpty(), patience);
    }
    write_elsewhere(path, 90);
    QTRY_VERIFY_WITH_TIMEOUT(!bar_text().isEmpty(), patience);
    window_->findChild<QToolButton*>("putOff")->click();
    QVERIFY(bar_text().isEmpty());
    QCOMPARE(answer({press_text("Cancel")}, [&] { QVERIFY(!window_->files().save()); }), 1);  // still asks
    write_elsewhere(path, 91);
    QTRY_VERIFY_WITH_TIMEOUT(!bar_text().isEmpty(), patience);
    write_elsewhere(path, steps);  // as it was
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().isEmpty(), patience);
  }

  void what_is_only_written_otherwise_is_no_change() {
    const QString path = open_own("formatted.json");
    QByteArray text = bytes_of(path);
    text.replace("\n", "\n\n");
    QVERIFY(text != bytes_of(path));
    write("formatted.json", text);
    QCOMPARE(document().stored_file().state, FileState::same);
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);
  }

  void a_file_whose_times_stay_is_compared_by_what_it_says() {
    const QString path = open_own("times.json");
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadWrite));
    const QDateTime before = file.fileTime(QFileDevice::FileModificationTime);
    const QByteArray text = file.readAll();
    const QByteArray other = QByteArray(text).replace("\"steps\": 40", "\"steps\": 41");
    QVERIFY(other != text && other.size() == text.size());
    QVERIFY(file.seek(0) && file.write(other) == other.size() && file.flush());
    QVERIFY(file.setFileTime(before, QFileDevice::FileModificationTime));
    file.close();
    QCOMPARE(document().stored_file().state, FileState::changed);
  }

  void a_file_that_was_removed_is_reported_and_written_anew_when_it_is_to_be() {
    const QString path = open_own("removed.json");
    QVERIFY(QFile::remove(path));
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().contains("no longer on disk"), patience);
    QCOMPARE(answer({press(QMessageBox::Cancel)}, [&] { QVERIFY(!window_->files().save()); }), 1);
    QVERIFY(!QFile::exists(path));
    QVERIFY(!window_->files().reload());
    QCOMPARE(document().config().steps, int64_t{40});
    QCOMPARE(answer({press(QMessageBox::Save)}, [&] { QVERIFY(window_->files().save()); }), 1);
    QCOMPARE(steps_in(path), int64_t{40});
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().isEmpty(), patience);
    write_elsewhere(path, 44);  // the one that was made anew is watched
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().contains("changed on disk"), patience);
  }

  void what_is_no_run_file_any_more_is_shown_by_lines_and_not_taken() {
    const QString path = open_own("broken.json");
    QByteArray text = bytes_of(path);
    text.replace("\"steps\": 40", "<<<<<<< mine");
    write("broken.json", text);
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().contains("no run file"), patience);
    QVERIFY(!window_->findChild<QToolButton*>("reloadNow")->isVisible());
    const Answer look = [](QWidget* dialog) {
      QVERIFY(!dialog->findChild<QPushButton*>("reloadFile"));
      const QStringList rows = rows_of(dialog);
      QVERIFY2(rows.size() == 1 && rows[0].contains("<<<<<<< mine") && rows[0].contains("\"steps\": 40"),
               qPrintable(rows.join("\n")));
      static_cast<QDialog*>(dialog)->reject();
    };
    QCOMPARE(answer({look}, [&] { QVERIFY(!window_->files().save()); }), 1);
    QVERIFY(!window_->files().reload());
    QCOMPARE(bytes_of(path), text);
    QVERIFY(QFile::remove(path) && ::mkfifo(QFile::encodeName(path), 0600) == 0);  // is not waited at
    QCOMPARE(document().stored_file().state, FileState::unreadable);
  }

  void a_link_stays_and_its_target_is_watched_and_written() {
    const QString target = open_own("target.json"), link = folder_.filePath("link.json");
    QVERIFY(QFile::setPermissions(target, QFile::ReadOwner | QFile::WriteOwner));
    QVERIFY(QDir(folder_.path()).mkpath("links"));
    const QString far = folder_.filePath("links/far.json");
    QVERIFY(QFile::rename(target, far) && QFile::link("links/far.json", link));
    QVERIFY(window_->files().open_file(link));
    write_elsewhere(far, 45);
    QTRY_VERIFY_WITH_TIMEOUT(bar_text().contains("changed on disk"), patience);
    QVERIFY(window_->files().reload());
    set_steps(document(), 46);
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);
    QVERIFY(QFileInfo(link).isSymLink() && !QFileInfo(far).isSymLink());
    QCOMPARE(steps_in(far), int64_t{46});
    QVERIFY(!(QFile::permissions(far) & (QFile::ReadGroup | QFile::ReadOther)));
    QCOMPARE(QDir(folder_.filePath("links")).entryList(QDir::Files | QDir::Hidden), QStringList("far.json"));
  }

  void two_windows_of_one_file_keep_what_each_has_saved() {
    const QString path = open_own("two.json");
    MainWindow other(compiled_plans(), "/nowhere/shardrun");
    QVERIFY(other.files().open_file(path));
    set_seed(other.workspace().document, 3);
    QVERIFY(other.files().save());
    set_steps(document(), 42);
    QCOMPARE(answer({press_named("reloadFile")}, [&] { QVERIFY(!window_->files().save()); }), 1);
    set_steps(document(), 42);
    QCOMPARE(answer({}, [&] { QVERIFY(window_->files().save()); }), 0);
    const RunConfig both = load_run_config(path.toStdString());
    QVERIFY(both.seed == 3 && both.steps == 42);
    other.workspace().document.reset(document().config(), {});
  }

  void closing_with_a_conflict_asks_and_stays_where_nothing_is_decided() {
    const QString path = open_own("closed.json");
    set_steps(document(), 43);
    write_elsewhere(path, 47);
    QCOMPARE(answer({press(QMessageBox::Save), press_text("Cancel")}, [&] { QVERIFY(!window_->close()); }), 2);
    QCOMPARE(steps_in(path), int64_t{47});
    QCOMPARE(answer({press(QMessageBox::Save), press_named("overwriteFile")}, [&] { QVERIFY(window_->close()); }), 2);
    QCOMPARE(steps_in(path), int64_t{43});
  }

  void unsaved_changes_are_asked_about_before_they_go() {
    set_steps(document(), 5);
    QCOMPARE(answer({press(QMessageBox::Cancel)}, [&] { window_->files().choose_file(); }), 1);
    QCOMPARE(document().config().steps, int64_t{5});
    QCOMPARE(answer({press(QMessageBox::Cancel)}, [&] { QVERIFY(!window_->close()); }), 1);
    QVERIFY(window_->isVisible());
    const QString path = folder_.filePath("kept.json");
    QCOMPARE(answer({press(QMessageBox::Save), choose(path)}, [&] { QVERIFY(window_->close()); }), 2);
    QCOMPARE(load_run_config(path.toStdString()).steps, int64_t{5});
  }

  void changes_that_are_discarded_go_and_an_unchanged_file_is_not_asked_about() {
    set_steps(document(), 5);
    QCOMPARE(answer({press(QMessageBox::Discard)}, [&] { QVERIFY(window_->close()); }), 1);
    window_ = std::make_unique<MainWindow>(compiled_plans(), "/nowhere/shardrun");
    window_->files().open_preset(default_preset);
    window_->show();
    QCOMPARE(answer({}, [&] { QVERIFY(window_->close()); }), 0);
  }

  void closing_during_a_run_asks() {
    window_->workspace().run.begin_replay(planner().plan());
    QCOMPARE(answer({press(QMessageBox::Cancel)}, [&] { QVERIFY(!window_->close()); }), 1);
    QVERIFY(window_->isVisible());
    const Answer end_at_once = [](QWidget* dialog) {
      QCOMPARE(dialog->objectName(), QString("stopping"));
      for (auto* button : dialog->findChildren<QPushButton*>())
        if (button->text().contains("End at once")) return button->click();
    };
    QCOMPARE(answer({press(QMessageBox::Close), end_at_once}, [&] { QVERIFY(window_->close()); }), 2);
  }

  void a_run_that_ends_while_the_window_asks_about_it_is_the_answer() {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    const Answer end = [&](QWidget*) { run.receive(FinishedMessage{RunEnd::finished, 3}); };
    QCOMPARE(answer({end}, [&] { QVERIFY(window_->close()); }), 1);
  }
};

REGISTER_WINDOW_TEST(FilesTest)

}  // namespace files_test

#include "files_test.moc"
