#include <QAbstractButton>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeView>
#include <QTreeWidget>

#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "gui/look/appearance.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"

using namespace shardscope;

// Opening, saving and closing, through the dialogs that a person sees.
class FilesTest : public QObject {
  Q_OBJECT

  static constexpr int patience = 60000;
  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  Planner& planner() { return window_->workspace().planner; }
  Document& document() { return window_->workspace().document; }

  // Acts on the modal dialogs that `open` brings up, one after the other, each as soon as it is there.
  using Answer = std::function<void(QWidget*)>;
  static int answer(const std::vector<Answer>& answers, const std::function<void()>& open) {
    size_t given = 0;
    QWidget* last = nullptr;
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

  void a_file_that_cannot_be_planned_shows_nothing_of_the_one_before_and_can_be_mended() {
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
    QCOMPARE(window_->verdict()->text(), verdict);
    set_steps(document(), 9);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(notice->toolTip().contains("message.json"));
    const QRect place(notice->mapToGlobal(QPoint()), notice->size());
    for (const QLabel* label : window_->statusBar()->findChildren<QLabel*>())
      QVERIFY(!place.intersects(QRect(label->mapToGlobal(QPoint()), label->size())));
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
    QVERIFY2(groups.contains("Optimizer \u2014 none"), qPrintable(groups.join(", ")));
    for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
      QVERIFY(window_->show_page(page));
      QVERIFY(!window_->grab().isNull());
    }
    const int last = planner().plan()->steps().size() - 1;
    window_->workspace().selection.select_step(step_at(*planner().plan(), last));
    QVERIFY(find_step(*planner().plan(), window_->workspace().selection.step()));
    set_steps(document(), 3);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    document().save(path);
    QVERIFY(load_run_config(path.toStdString()).optimizer.name.empty());
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
};

QTEST_MAIN(FilesTest)
#include "files_test.moc"
