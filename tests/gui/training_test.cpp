#include <signal.h>

#include <QAbstractButton>
#include <QChart>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QMessageBox>
#include <QProcess>
#include <QStandardPaths>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <cmath>

#include "engine/base/units.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/plan/host_memory.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/pages/trace_box.h"
#include "gui/run/chart_picture.h"
#include "gui/run/checkpoint_tab.h"
#include "gui/run/run_comparison.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "gui/workspace/array_facts.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace training_test {

using namespace shardscope;

// The window with the real planner and real MPI ranks, on a small model.
class TrainingTest : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;

  RunControl& run() { return window_->workspace().run; }
  Planner& planner() { return window_->workspace().planner; }

  static RunConfig small_config() {
    RunConfig config = load_preset(default_preset);
    const auto set = [&](NamedOptions& group, const std::string& name, int64_t value) {
      for (auto& [option, held] : group.options)
        if (option == name) held = value;
    };
    set(config.model, "vocab_size", 64);
    set(config.model, "seq_len", 16);
    set(config.model, "embed_dim", 32);
    set(config.model, "num_layers", 1);
    set(config.model, "num_heads", 2);
    set(config.data, "batch_size", 8);
    std::erase_if(config.sharding.parameters,
                  [](const ParameterSpec& spec) { return spec.path[1] == "SelfAttentionBlock_1"; });
    config.mesh_axes = {{"data", 1}, {"model", 2}};
    config.steps = 8;
    return config;
  }

  void press(const char* name) { QTest::mouseClick(window_->findChild<QToolButton*>(name), Qt::LeftButton); }

  void open(const RunConfig& config) {
    window_->workspace().document.reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY2(planner().is_current(), planner().errors().empty() ? "" : to_string(planner().errors().front()).c_str());
  }

  std::vector<pid_t> rank_processes() {
    std::vector<pid_t> processes;
    for (const RankStateMessage& rank : run().record().ranks)
      if (rank.pid > 0) processes.push_back(rank.pid);
    return processes;
  }

  // A process that ended but was not yet reaped by its parent (state Z) does not count.
  static bool any_alive(const std::vector<pid_t>& processes) {
    return std::ranges::any_of(processes, [](pid_t pid) {
      QFile stat(QString("/proc/%1/stat").arg(pid));
      if (!stat.open(QIODevice::ReadOnly)) return false;
      const QByteArray line = stat.readAll();
      return line.mid(line.lastIndexOf(')') + 2, 1) != "Z";
    });
  }

  // Closes the window, and answers what it asks by the button of that name; then, where a text is given, what it says
  // while it waits.
  bool close_by(const QString& answer, const QString& then = {}) {
    QTimer press;
    connect(&press, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box) return;
      const QString wanted = box->objectName() == "stopping" ? then : answer;
      for (QAbstractButton* button : box->buttons())
        if (!wanted.isEmpty() && button->text().remove('&').contains(wanted)) return button->click();
    });
    press.start(5);
    return window_->close();
  }

  // Resumes, answers by the button of that name where the window asks about changed data, and returns what it asks;
  // empty where the run starts without a question.
  QString resume_and_answer(QPushButton* resume, const QString& answer) {
    QString asked;
    QTimer press;
    connect(&press, &QTimer::timeout, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box || box->objectName() != "changedData") return;
      asked = box->text() + ' ' + box->informativeText();
      for (QAbstractButton* button : box->buttons())
        if (button->text().remove('&').contains(answer)) return button->click();
    });
    press.start(5);
    resume->click();
    if (!QTest::qWaitFor([&] { return !asked.isEmpty() || run().is_active(); }, patience)) return "nothing happened";
    return asked;
  }

  void train_until(size_t steps) {
    press("trainButton");
    QTRY_VERIFY_WITH_TIMEOUT(run().record().completed() >= int64_t(steps) || !run().is_active(), patience);
    QVERIFY2(run().record().completed() >= int64_t(steps), qPrintable(run().state_text()));
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    apply_theme(*qApp, ThemeChoice::light);
    QVERIFY(QFile::exists(SHARDSCOPE_BINARY_DIR "/bin/shardrun"));
  }

  void init() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), SHARDSCOPE_BINARY_DIR "/bin/shardrun");
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }

  void cleanup() { window_.reset(); }

  void a_run_goes_on_from_the_checkpoint_that_is_selected() {
    QTemporaryDir folder;
    RunConfig config = small_config();
    open(config);
    auto* tab = window_->findChild<CheckpointTab*>();
    auto* resume = tab->findChild<QPushButton*>("resume");
    tab->findChild<QSpinBox*>("saveEvery")->setValue(3);
    tab->set_folder(folder.path());
    QVERIFY(!resume->isEnabled());
    train_until(1);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    auto* table = tab->findChild<QTableWidget*>("checkpoints");
    QCOMPARE(table->rowCount(), 3);
    QCOMPARE(table->item(0, 0)->text(), QString("8"));
    QCOMPARE(table->item(2, 0)->text(), QString("3"));
    QVERIFY(resume->isEnabled());
    config.steps = 10;
    config.mesh_axes = {{"data", 2}, {"model", 1}};
    open(config);
    resume->click();
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QVERIFY2(run().state() == RunControl::State::finished, qPrintable(run().state_text()));
    QCOMPARE(run().record().steps().front().step, int64_t{8});
    QCOMPARE(run().record().steps().size(), size_t{2});
    QCOMPARE(table->item(0, 0)->text(), QString("10"));
  }

  void a_resume_asks_where_the_data_changed_and_trains_on_or_does_not() {
    QTemporaryDir folder;
    const QString text = folder.filePath("text.txt");
    const auto write_text = [&](int bytes) {
      QFile file(text);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(QByteArray(bytes, 'a'));
    };
    write_text(9000);
    RunConfig config = small_config();
    for (auto& [option, held] : config.model.options)
      if (option == "vocab_size") held = int64_t{128};
    config.data = {"text", {{"batch_size", int64_t{8}}, {"path", text.toStdString()}}};
    config.steps = 2;
    open(config);
    auto* tab = window_->findChild<CheckpointTab*>();
    auto* resume = tab->findChild<QPushButton*>("resume");
    tab->set_folder(folder.filePath("saved"));
    train_until(2);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    config.steps = 4;
    open(config);
    write_text(9001);

    const QString asked = resume_and_answer(resume, "Cancel");
    QVERIFY2(asked.startsWith("The data changed since this checkpoint was written."), qPrintable(asked));
    QVERIFY2(asked.contains("'text.txt' had 9000 bytes and has 9001"), qPrintable(asked));
    QVERIFY(!run().is_active());
    QCOMPARE(run().record().steps().front().step, int64_t{0});  // of the first run

    QVERIFY(!resume_and_answer(resume, "Train on").isEmpty());
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QVERIFY2(run().state() == RunControl::State::finished, qPrintable(run().state_text()));
    QCOMPARE(run().record().steps().front().step, int64_t{2});

    // The new checkpoint knows the new data.
    config.steps = 5;
    open(config);
    QCOMPARE(resume_and_answer(resume, "Cancel"), QString());
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().record().steps().front().step, int64_t{4});
  }

  void a_regression_draws_its_loss_from_where_the_original_does_and_its_fit() {
    RunConfig config = load_preset("mintext_mlp");
    config.mesh_axes = {{"data", 2}, {"model", 1}};
    config.steps = 60;
    open(config);
    train_until(1);
    RunCurves& curves = window_->run_panel().curves();
    QVERIFY(!curves.chart("fit") || !run().is_active());
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().fit().size(), size_t{100});
    QVERIFY(std::abs(run().fit().front().x + 2) < 1e-6 && std::abs(run().fit().back().x - 2) < 1e-6);
    double error = 0;
    for (const FitPoint& point : run().fit()) error += std::pow(point.target - point.prediction, 2) / 100;
    const double loss = value_of(run().record().newest()->metrics, "loss");
    QVERIFY2(error < 4 * loss && loss < 4 * error, qPrintable(QString("%1 and %2").arg(error).arg(loss)));
    QVERIFY(curves.chart("fit")->isVisibleTo(window_.get()));
    const auto* line = qobject_cast<QXYSeries*>(curves.chart("loss")->chart()->series().at(1));
    QCOMPARE(line->points().front().x(), 20.0);
    QCOMPARE(line->points().back().x(), 59.0);
    QTemporaryDir folder;
    for (const char* name : {"fit.svg", "fit.png", "loss.svg", "loss.png"}) {
      const QString file = folder.filePath(name);
      QVERIFY(save_picture(*curves.chart(QString(name).section('.', 0, 0).toStdString()), file));
      const QImage picture(file);
      QVERIFY2(picture.width() > picture.height() && picture.height() > 400, name);
    }
    QVERIFY(!save_picture(*curves.chart("fit"), "/nowhere/fit.png"));
    QVERIFY(!save_picture(*curves.chart("fit"), "/nowhere/fit.svg"));
    run().begin_replay(planner().plan());
    QVERIFY(!curves.chart("fit"));
  }

  void an_export_of_a_run_has_all_of_its_record() {
    window_->keep_history();
    open(small_config());
    train_until(8);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    const QTemporaryDir folder;
    ExportWish wish{&find_export_kind("jsonl"), {}, folder.filePath("steps.jsonl"), {}, 1, false};
    window_->exports().start(wish);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
    QFile file(wish.path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QList<QByteArray> lines = file.readAll().trimmed().split('\n');
    QCOMPARE(lines.size(), qsizetype{8});
    for (const QByteArray& line : lines)
      QCOMPARE(QJsonDocument::fromJson(line)["ranks"].toArray().size(), qsizetype{2});
    for (const char* shown : {"slowest", "latest"}) {
      for (TraceBox* box : window_->findChildren<TraceBox*>())
        box->setCurrentIndex(box->findData(int(*trace_choice(shown))));
      ExportWish drawn{&find_export_kind("svg"), {"timeline", {}}, folder.filePath(shown), {1000, 600}, 1, false};
      window_->exports().start(drawn);
      QTRY_VERIFY_WITH_TIMEOUT(!window_->exports().is_busy(), patience);
      QFile picture(drawn.path);
      QVERIFY(picture.open(QIODevice::ReadOnly));
      QVERIFY(picture.readAll().contains(QByteArray(shown) + " step</text>"));
    }
    QDir(run().store().folder()).removeRecursively();
  }

  void a_run_goes_to_its_end_and_measures_what_was_planned() {
    open(small_config());
    train_until(8);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::finished);
    const RunRecord& record = run().record();
    QCOMPARE(record.steps().size(), size_t{8});
    for (const StepMessage& step : record.steps()) QVERIFY(std::isfinite(value_of(step.metrics, "loss")));
    QVERIFY(record.hello);
    QCOMPARE(record.hello->plan_hash, planner().plan()->hash);
    QVERIFY(record.is_of(*planner().plan()));
    for (const Comparison& row : compare(*planner().plan(), planner().index().quantities, record)) {
      QVERIFY2(row.is_measured, qPrintable(row.name));
      const bool is_planned = row.format == bytes_text && !row.name.startsWith("Moved");  // which the transport decides
      if (is_planned) QVERIFY2(row.measured == row.predicted, qPrintable(row.name));
    }
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(rank_processes()), patience);
  }

  void stop_ends_a_run_in_the_middle_and_the_window_stays_alive() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    int ticks = 0;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] { ++ticks; });
    timer.start(0);
    train_until(3);
    QVERIFY(ticks > 3);
    QVERIFY(!window_->findChild<QToolButton*>("trainButton")->isEnabled());
    press("stopButton");
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::stopped);
    QVERIFY(run().record().completed() < 100000);
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(rank_processes()), patience);
    QVERIFY(window_->findChild<QToolButton*>("trainButton")->isEnabled());
  }

  void a_killed_rank_is_named_and_training_can_start_again() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    train_until(2);
    ::kill(run().record().ranks.at(1).pid, SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::failed);
    const QString state = window_->findChild<QLabel*>("runState")->text();
    QVERIFY2(state.contains("rank 1") && state.contains("SIGKILL"), qPrintable(state));
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(rank_processes()), patience);
    QTest::mouseClick(window_->findChild<QPushButton*>("startAgain"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().completed() >= 2 || !run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::running);
  }

  void a_lost_rank_is_replaced_where_that_is_wished_and_the_window_tells_so() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    window_->findChild<QSpinBox*>("restarts")->setValue(1);
    train_until(2);
    const pid_t first = run().record().ranks.at(1).pid;
    ::kill(first, SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().ranks.at(1).pid != first || !run().is_active(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().state_of(1) == "running" || !run().is_active(), patience);
    const auto* state = window_->findChild<QLabel*>("runState");
    QTRY_VERIFY2_WITH_TIMEOUT(state->text().contains("restart 1: rank 1 was killed by SIGKILL"),
                              qPrintable(state->text()), patience);
    const auto& log = run().record().log;
    QCOMPARE(
        std::ranges::count_if(
            log, [](const LogMessage& line) { return line.text.ends_with("starting again from step 0 (restart 1)"); }),
        std::ptrdiff_t{1});
    ::kill(run().record().ranks.at(1).pid, SIGKILL);
    QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::failed, patience);
    QVERIFY2(run().state_text().contains("(after 1 restart)"), qPrintable(run().state_text()));
  }

  void a_stopped_rank_is_named_and_training_can_start_again() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    train_until(2);
    const pid_t stopped = run().record().ranks.at(1).pid;
    ::kill(stopped, SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().failure, patience);
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::failed);
    const QString state = window_->findChild<QLabel*>("runState")->text();
    QVERIFY2(state.contains("rank 1") && state.contains("stopped by a signal"), qPrintable(state));
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(rank_processes()), patience);
    auto* again = window_->findChild<QPushButton*>("startAgain");
    QVERIFY(again->isVisible());
    QTest::mouseClick(again, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().completed() >= 2 || !run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::running);
  }

  void closing_the_window_asks_and_stops_the_run_after_its_last_checkpoint() {
    QTemporaryDir folder;
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    window_->findChild<QSpinBox*>("saveEvery")->setValue(0);
    window_->findChild<CheckpointTab*>()->set_folder(folder.path());
    train_until(1);
    const std::vector<pid_t> processes = rank_processes();
    QVERIFY(!close_by("Cancel"));
    QVERIFY(run().is_active());
    QVERIFY(close_by("Stop training"));
    QVERIFY(!run().is_active());
    QVERIFY2(run().state() == RunControl::State::stopped, qPrintable(run().state_text()));
    QCOMPARE(QDir(folder.path()).entryList({"step_*"}, QDir::Dirs).size(), qsizetype{1});
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(processes), patience);
  }

  void a_window_waits_for_the_run_that_it_stops_unless_it_is_to_stay_or_to_end_it_at_once() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    train_until(1);
    const std::vector<pid_t> processes = rank_processes();
    ::kill(processes.at(1), SIGSTOP);
    QVERIFY(!close_by("Stop training", "Keep the window"));
    QVERIFY(run().is_active());
    QCOMPARE(run().state(), RunControl::State::stopping);
    QVERIFY(close_by("Stop training", "End at once"));
    QVERIFY(!run().is_active());
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(processes), patience);
  }

  void a_run_that_is_left_goes_on_and_another_window_watches_it_to_its_end() {
    QTemporaryDir folder;
    const QString file = folder.filePath("run.json");
    RunConfig config = small_config();
    config.steps = 100000;
    save_run_config(config, file.toStdString());
    const auto open_file = [&] {
      window_->keep_history();
      QVERIFY(window_->files().open_file(file));
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    };
    open_file();
    train_until(2);
    const std::vector<pid_t> processes = rank_processes();
    const int64_t seen = run().record().completed();
    QVERIFY(close_by("without a window"));
    cleanup();
    init();
    open_file();
    auto* attach = window_->findChild<QPushButton*>("attach");
    QTRY_VERIFY_WITH_TIMEOUT(attach->isVisible(), patience);
    attach->click();
    QTRY_VERIFY_WITH_TIMEOUT(run().record().completed() > seen + 20, patience);
    QCOMPARE(rank_processes(), processes);
    QVERIFY(run().is_attached() && run().record().is_of(*planner().plan()));
    QVERIFY(run().plan());
    QVERIFY(close_by("Stop training"));
    QVERIFY(!run().is_active());
    QVERIFY2(run().state() == RunControl::State::stopped, qPrintable(run().state_text()));
    QVERIFY(run().record().finished);
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(processes), patience);
    QCOMPARE(window_->findChild<QTableWidget*>("history")->rowCount(), 1);
    QTRY_VERIFY_WITH_TIMEOUT(!QDir(run().stored().directory).exists(), patience);
    QDir(run().store().folder()).removeRecursively();
  }

  void a_run_of_another_machine_is_watched_by_its_socket_beside_its_own_plan_and_stopped() {
    QTemporaryDir folder;
    const QString file = folder.filePath("run.json"), machine = folder.filePath("machine.json");
    RunConfig config = small_config();
    config.steps = 100000;
    save_run_config(config, file.toStdString());
    Machine theirs = standard_host();
    theirs.name = "another machine";
    theirs.device.instruction_latency *= 2;
    save_machine(theirs, machine.toStdString());
    QProcess headless;
    headless.setStandardOutputFile(QProcess::nullDevice());
    const QString socket = folder.filePath("socket");
    headless.start(SHARDSCOPE_BINARY_DIR "/bin/shardrun", {"train", file, "--socket", socket, "--machine", machine});
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(socket), patience);
    open(load_preset(default_preset));
    window_->socket_watch().attach(socket);
    QTRY_VERIFY_WITH_TIMEOUT(run().plan() || !run().is_active(), patience);
    QVERIFY2(run().plan(), qPrintable(run().state_text()));
    QCOMPARE(planner().plan()->machine.name, std::string("another machine"));
    QCOMPARE(planner().plan()->hash, run().record().hello->plan_hash);
    QTRY_VERIFY_WITH_TIMEOUT(run().record().completed() > 2, patience);
    QVERIFY(window_->workspace().matching_run());
    QTRY_VERIFY_WITH_TIMEOUT(run().record().trace(TraceChoice::latest), patience);
    QTimer asked;
    connect(&asked, &QTimer::timeout, this, [] {
      const auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box) return;
      for (QAbstractButton* button : box->buttons())
        if (button->text().remove('&') == "Stop the run") return button->click();
    });
    asked.start(20);
    press("stopButton");
    QTRY_VERIFY_WITH_TIMEOUT(!run().is_active(), patience);
    QCOMPARE(run().state(), RunControl::State::stopped);
    QTRY_COMPARE_WITH_TIMEOUT(headless.state(), QProcess::NotRunning, patience);
    QCOMPARE(headless.exitCode(), 0);
  }

  void a_window_that_goes_takes_its_run_with_it() {
    RunConfig config = small_config();
    config.steps = 100000;
    open(config);
    train_until(1);
    const std::vector<pid_t> processes = rank_processes();
    QCOMPARE(processes.size(), size_t{2});
    window_.reset();
    QTRY_VERIFY_WITH_TIMEOUT(!any_alive(processes), patience);
  }

  void a_window_that_is_interrupted_leaves_nothing_behind() {
    QTemporaryDir files;
    QProcess window;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"TMPDIR", "HOME", "XDG_CONFIG_HOME"}) environment.insert(name, files.path());
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    window.setProcessEnvironment(environment);
    const QString run_file = files.filePath("run.json");
    RunConfig config = small_config();
    config.steps = 100000;
    save_run_config(config, run_file.toStdString());
    window.start(SHARDSCOPE_BINARY_DIR "/bin/shardscope", {"--train", run_file});
    QVERIFY2(window.waitForStarted(), qPrintable(window.errorString()));
    const auto folders = [&] { return QDir(files.path()).entryList({"shardscope-*"}, QDir::Dirs); };
    const auto connected = [&] {
      for (const QString& folder : folders())
        if (QFileInfo::exists(files.filePath(folder + "/socket"))) return true;
      return false;
    };
    QTRY_VERIFY_WITH_TIMEOUT(connected(), patience);
    ::kill(static_cast<pid_t>(window.processId()), SIGINT);
    QVERIFY(window.waitForFinished(patience));
    QCOMPARE(window.exitCode(), 130);
    QTRY_COMPARE_WITH_TIMEOUT(folders(), QStringList(), patience);
  }

  void the_arrays_of_a_bucket_share_its_bytes() {
    open(load_preset(default_preset));
    const Plan& plan = *planner().plan();
    std::map<StepRef, double> shares;
    for (const ParameterPlan& parameter : plan.parameters) {
      const std::optional<ArrayFacts> facts = array_facts(window_->workspace(), ParameterRef{parameter.path});
      QVERIFY(facts);
      for (const StepRef step : collectives_of(planner(), *facts))
        shares[step] += wire_share(plan, *find_step(plan, step), *facts);
    }
    QVERIFY(!shares.empty());
    for (const auto& [id, bytes] : shares) {
      const Instruction& instruction = *find_step(plan, id);
      QVERIFY2(bytes > 0 && bytes <= instruction.wire_bytes() * (1 + 1e-9), plan.instruction_name(instruction).c_str());
    }
  }

  void every_mesh_and_mode_of_the_presets_can_be_planned_from_the_window() {
    int planned = 0;
    for (const QString& preset : preset_names())
      for (const std::array<int64_t, 2>& sizes : {std::array<int64_t, 2>{4, 2}, {2, 4}, {1, 8}, {1, 1}})
        for (const LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
          RunConfig config = load_preset(preset);
          config.mesh_devices.clear();
          for (size_t axis = 0; axis < std::min(sizes.size(), config.mesh_axes.size()); ++axis) {
            config.mesh_axes[axis].size = sizes[axis];
          }
          config.sharding.mode = mode;
          if (!validate(config).empty()) continue;
          ++planned;
          open(config);
          const bool is_ok = planner().plan()->warnings.empty() && window_->workspace().findings.list().empty();
          const QString verdict = window_->verdict()->text();
          const bool says_ok = verdict.startsWith("plan ok") || verdict.startsWith("checking");
          QVERIFY2(says_ok == is_ok, qPrintable(verdict));
          QVERIFY(!is_ok || !host_memory_excess(*planner().plan()));
        }
    QVERIFY(planned > 4 * static_cast<int>(preset_names().size()));
  }
};

REGISTER_WINDOW_TEST(TrainingTest)

}  // namespace training_test

#include "training_test.moc"
