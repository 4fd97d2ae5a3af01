#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLocalServer>
#include <QLocalSocket>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <algorithm>
#include <array>

#include "engine/config/write.h"
#include "engine/session/run_recorder.h"
#include "gui/look/appearance.h"
#include "gui/run/history_tab.h"
#include "gui/run/run_panel.h"
#include "tests/gui/made_plan.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace history_test {

using namespace shardscope;

// The history of a run file: what is kept of its runs, laid over the run at hand, and runs that go on without a window.
class HistoryTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<RunControl> run_;
  std::unique_ptr<Planner> planner_;
  std::unique_ptr<Selection> selection_;
  std::unique_ptr<RunPanel> panel_;
  std::shared_ptr<const Plan> plan_;

  RunStore store() { return RunStore(folder_->filePath("history")); }
  HistoryTab* tab() { return panel_->findChild<HistoryTab*>(); }
  QTableWidget* table() { return panel_->findChild<QTableWidget*>("history"); }
  RunCurve* losses() { return panel_->findChild<RunCurve*>("lossCurve"); }

  // Presses Remove, and the button of this text in the question; the text of the question.
  QString remove_selected(const QString& answer) {
    QString asked;
    QTimer::singleShot(0, this, [&] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      QVERIFY(box);
      asked = box->text();
      for (QAbstractButton* button : box->buttons())
        if (button->text().remove('&') == QString(answer).remove('&')) return button->click();
      box->reject();
    });
    panel_->findChild<QPushButton*>("removeRun")->click();
    return asked;
  }

  HelloMessage hello() {
    HelloMessage hello;
    hello.config_json = plan_->run_file;
    hello.plan_hash = plan_->hash;
    hello.ranks = 8;
    hello.plan_steps = plan_step_names(*plan_);
    hello.metrics = {"loss"};
    return hello;
  }

  static StepMessage step(int64_t number, double loss) {
    StepMessage message;
    message.step = number;
    message.step_ms = 100;
    message.metrics = {{"loss", loss}};
    return message;
  }

  // A run that did so many steps, as shardrun would have recorded it.
  StoredRun record_run(int steps, double loss, RunEnd end = RunEnd::finished) {
    const StoredRun stored = store().add(*plan_, {}, {});
    RunRecorder recorder(stored.record.toStdString(), Existing::refuse, {}, hello(), plan_->machine);
    recorder.begin();
    for (int i = 0; i < steps; ++i) recorder.add(step(i, loss - 0.01 * i));
    recorder.add(FinishedMessage{end, steps});
    return stored;
  }

  // A folder as a run that was left has it, with a socket at which it answers.
  QString make_left(QLocalServer& server, const QString& name = "left") {
    const QString directory = folder_->filePath(name);
    [&] {
      QVERIFY(QDir().mkpath(directory));
      for (const char* name : {run_files::config, run_files::machine, run_files::output, run_files::errors,
                               run_files::left, "predictions.jsonl.parameters.part"}) {
        QFile file(directory + '/' + name);
        QVERIFY(file.open(QIODevice::WriteOnly));
      }
      QVERIFY(server.listen(directory + "/socket"));
    }();
    return directory;
  }

  // A run that was left is watched again; `client` is its end of the connection, and it has done a step.
  void attach_to_left(QLocalServer& server, StoredRun& left, QLocalSocket*& client) {
    left.id = "20260101-000000-000";
    left.directory = make_left(server);
    left.socket = server.fullServerName();
    run_->attach(left, plan_);
    QTRY_VERIFY_WITH_TIMEOUT(server.hasPendingConnections(), patience);
    client = server.nextPendingConnection();
    client->write(QByteArray::fromStdString(to_json_line(hello()) + to_json_line(step(0, 5))));
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::running, patience);
  }

  // A socket file at which nobody answers, as a process that was killed leaves it.
  static void leave_dead_socket(const QString& path) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const QByteArray name = path.toUtf8();
    std::copy(name.begin(), name.end(), address.sun_path);
    QVERIFY(socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    ::close(socket);
  }

  qsizetype curves() {
    return std::ranges::count_if(losses()->chart()->series(), [](const QAbstractSeries* series) {
      const auto* line = qobject_cast<const QLineSeries*>(series);
      return line && line->pen().style() != Qt::DashLine;
    });
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    plan_ = std::make_shared<const Plan>(made::plan(made::config()));
    run_ = std::make_unique<RunControl>("/nowhere/shardrun");
    planner_ = std::make_unique<Planner>(made::source());
    selection_ = std::make_unique<Selection>();
    panel_ = std::make_unique<RunPanel>(*run_, *planner_, *selection_);
    panel_->resize(1000, 300);
    panel_->show();
    QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
  }

  void cleanup() { panel_.reset(); }

  void a_history_goes_by_the_path_of_its_file() {
    QFile file(folder_->filePath("run.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    const QString own = RunStore::of(file.fileName(), "run.json").folder();
    QCOMPARE(RunStore::of(folder_->filePath("./run.json"), "other").folder(), own);
    QVERIFY(RunStore::of({}, "run.json").folder() != own);
    QVERIFY(RunStore::of({}, "a.json").folder() != RunStore::of({}, "b.json").folder());
    QVERIFY(RunStore().runs().empty());
    QVERIFY(RunStore().add(*plan_, {}, {}).record.isEmpty());
    QVERIFY(RunStore("/proc/nowhere").add(*plan_, {}, {}).record.isEmpty());
  }

  void the_newest_runs_are_kept_in_order_with_what_they_are() {
    for (size_t i = 0; i < RunStore::most_runs + 3; ++i) {
      const QDateTime started = store().add(*plan_, {}, {}).started;
      QTRY_VERIFY_WITH_TIMEOUT(QDateTime::currentDateTime() > started, patience);
    }
    const std::vector<StoredRun> runs = store().runs();
    QCOMPARE(runs.size(), RunStore::most_runs);
    QVERIFY(std::ranges::is_sorted(runs, std::greater(), &StoredRun::id));
    QCOMPARE(runs[0].mesh, QString("data 4 x model 2"));
    QCOMPARE(runs[0].work, step_work(*plan_));
    QCOMPARE(runs[0].steps, qint64(plan_->training.steps));
    store().remove(runs[0]);
    QCOMPARE(store().runs()[0].id, runs[1].id);
  }

  void ticked_runs_are_laid_over_the_curves_of_the_run_at_hand() {
    const StoredRun first = record_run(12, 5);
    record_run(20, 4);
    panel_->set_store(store());
    tab()->refresh();
    QCOMPARE(table()->rowCount(), 2);
    run_->begin_replay(plan_);
    run_->receive(hello());
    for (int i = 0; i < 5; ++i) run_->receive(step(i, 6));
    QTRY_VERIFY_WITH_TIMEOUT(losses() && curves() == 1, patience);
    table()->item(1, 0)->setCheckState(Qt::Checked);
    QTRY_COMPARE_WITH_TIMEOUT(curves(), qsizetype{2}, patience);
    QStringList names;
    for (const QAbstractSeries* series : losses()->chart()->series()) names << series->name();
    QVERIFY2(names.contains(first.label() + ": Loss  4.8900"), qPrintable(names.join('\n')));
    QCOMPARE(table()->item(1, 2)->text(), QString("finished"));
    QVERIFY2(table()->item(1, 3)->text().startsWith("12 of"), qPrintable(table()->item(1, 3)->text()));
    table()->item(0, 0)->setCheckState(Qt::Checked);
    QTRY_COMPARE_WITH_TIMEOUT(curves(), qsizetype{3}, patience);
    for (const int row : {0, 1}) table()->item(row, 0)->setCheckState(Qt::Unchecked);
    QCOMPARE(curves(), qsizetype{1});
  }

  void runs_that_begin_together_are_kept_apart() {
    QSet<QString> records;
    for (int i = 0; i < 8; ++i) records.insert(store().add(*plan_, {}, {}).record);
    QCOMPARE(records.size(), qsizetype{8});
    QVERIFY(!records.contains(QString()));
  }

  void a_run_that_is_removed_takes_nothing_of_the_users_with_it() {
    const StoredRun run = record_run(3, 5), linked = store().add(*plan_, {}, {});
    const QString archive = folder_->filePath("archive");
    QVERIFY(QDir().mkpath(archive + "/tmp") && QFile::copy(run.record + "/record.json", archive + "/record.json"));
    QFile notes(run.record + "/notes");
    QVERIFY(notes.open(QIODevice::WriteOnly));
    QVERIFY(QFile::link(archive, linked.record));
    for (const StoredRun& one : store().runs()) store().remove(one);
    QVERIFY(store().runs().empty());
    QCOMPARE(QDir(run.record).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList{"notes"});
    QVERIFY(QFile::exists(archive + "/record.json") && QDir(archive + "/tmp").exists());
  }

  void the_run_that_is_selected_stays_so_when_new_ones_come() {
    const StoredRun first = record_run(3, 5);
    panel_->set_store(store());
    QVERIFY(!panel_->findChild<QPushButton*>("removeRun")->isEnabled());
    table()->selectRow(0);
    const StoredRun second = record_run(3, 4);
    panel_->set_store(store());
    QCOMPARE(table()->rowCount(), 2);
    remove_selected("Remove");
    QCOMPARE(table()->rowCount(), 1);
    QVERIFY(!QDir(first.record).exists() && QDir(second.record).exists());
    QVERIFY(!panel_->findChild<QPushButton*>("removeRun")->isEnabled());
  }

  void a_run_is_removed_only_where_the_question_that_names_it_is_answered_so() {
    const StoredRun run = record_run(3, 5);
    panel_->set_store(store());
    table()->selectRow(0);
    const QString asked = remove_selected("Cancel");
    QVERIFY2(asked.contains(run.label()), qPrintable(asked));
    QCOMPARE(table()->rowCount(), 1);
    QVERIFY(QDir(run.record).exists());
    remove_selected("Remove");
    QCOMPARE(table()->rowCount(), 0);
    QVERIFY(!QDir(run.record).exists());
  }

  void a_record_that_cannot_be_read_says_why_and_harms_nothing() {
    const StoredRun run = record_run(3, 5);
    QFile header(run.record + "/record.json");
    QVERIFY(header.open(QIODevice::WriteOnly));
    header.write("{");
    header.close();
    panel_->set_store(store());
    table()->item(0, 0)->setCheckState(Qt::Checked);
    QTRY_VERIFY_WITH_TIMEOUT(!table()->item(0, 2)->text().isEmpty(), patience);
    QVERIFY2(table()->item(0, 2)->text().contains("record.json"), qPrintable(table()->item(0, 2)->text()));
    table()->selectRow(0);
    remove_selected("Remove");
    QCOMPARE(table()->rowCount(), 0);
    QVERIFY(!QDir(run.record).exists());
  }

  void a_run_that_goes_on_is_found_and_attached_to() {
    QLocalServer server;
    const QString directory = make_left(server);
    QFile output(directory + "/output");
    QVERIFY(output.open(QIODevice::WriteOnly));
    output.write("a line that was printed\n");
    output.close();
    store().add(*plan_, server.fullServerName(), directory);
    panel_->set_store(store());
    auto* attach = panel_->findChild<QPushButton*>("attach");
    QVERIFY(attach->isVisible());
    QTRY_VERIFY_WITH_TIMEOUT(server.hasPendingConnections(), patience);  // who looked whether it is there
    while (server.hasPendingConnections()) {
      const std::unique_ptr<QLocalSocket> looked(server.nextPendingConnection());
      QTRY_COMPARE_WITH_TIMEOUT(looked->state(), QLocalSocket::UnconnectedState, patience);
    }
    attach->click();
    QVERIFY(!attach->isVisible() && run_->is_attached() && run_->is_active());
    QCOMPARE(table()->item(0, 2)->text(), QString("at hand"));
    SnapshotMessage snapshot;
    for (int i = 0; i < 4; ++i) snapshot.steps.push_back(step(i, 5));
    snapshot.ranks = {{0, RankState::running, 7}};
    QLocalSocket* client = nullptr;  // the last: who only looked whether it is there has gone again
    const auto greet = [&] {
      while (server.hasPendingConnections()) {
        client = server.nextPendingConnection();
        for (const Message& message : std::vector<Message>{hello(), snapshot, step(4, 4)})
          client->write(QByteArray::fromStdString(to_json_line(message)));
      }
      return run_->record().completed() == 5;
    };
    QTRY_VERIFY_WITH_TIMEOUT(greet(), patience);
    QCOMPARE(run_->state(), RunControl::State::running);
    run_->stop();
    QTRY_VERIFY_WITH_TIMEOUT(client->canReadLine(), patience);
    QVERIFY(parse_request(client->readLine().toStdString()) == Request::stop);
    client->write(QByteArray::fromStdString(to_json_line(FinishedMessage{RunEnd::stopped, 5})));
    client->disconnectFromServer();
    server.close();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active() && run_->record().is_over, patience);
    QCOMPARE(run_->state(), RunControl::State::stopped);
    const auto is_printed = [](const LogMessage& line) { return line.text == "a line that was printed"; };
    QVERIFY(std::ranges::any_of(run_->record().log, is_printed));
    QVERIFY(!QDir(directory).exists());
  }

  void an_attached_run_that_is_killed_has_failed_and_leaves_nothing() {
    QLocalServer server;
    StoredRun left;
    QLocalSocket* client = nullptr;
    attach_to_left(server, left, client);
    server.close();
    leave_dead_socket(left.socket);
    delete client;
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::failed, patience);
    QVERIFY2(run_->state_text().contains("is gone"), qPrintable(run_->state_text()));
    QVERIFY(!run_->is_active() && run_->record().is_over);
    QTRY_VERIFY_WITH_TIMEOUT(!QDir(left.directory).exists(), patience);
  }

  void an_attached_run_whose_last_messages_were_missed_ended_as_its_record_says() {
    QLocalServer server;
    StoredRun left = record_run(7, 5, RunEnd::stopped);
    QLocalSocket* client = nullptr;
    attach_to_left(server, left, client);
    run_->stop();
    server.close();
    delete client;
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QVERIFY2(run_->state() == RunControl::State::stopped, qPrintable(run_->state_text()));
    QCOMPARE(run_->record().completed(), int64_t{7});
    QVERIFY(run_->record().finished && run_->record().is_over);
    QTRY_VERIFY_WITH_TIMEOUT(!QDir(left.directory).exists(), patience);
  }

  void a_run_that_is_stopped_as_its_window_closes_leaves_nothing() {
    QLocalServer server;
    StoredRun left;
    QLocalSocket* client = nullptr;
    attach_to_left(server, left, client);
    run_->stop();
    client->write(QByteArray::fromStdString(to_json_line(FinishedMessage{RunEnd::stopped, 1})));
    client->flush();
    delete client;
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);  // for which the window waits
    panel_.reset();
    run_.reset();
    QVERIFY(!QDir(left.directory).exists());
  }

  void a_run_of_another_window_is_neither_offered_nor_removed() {
    QLocalServer server;
    const QString directory = make_left(server);
    QVERIFY(QFile::remove(directory + "/left"));
    store().add(*plan_, server.fullServerName(), directory);
    panel_->set_store(store());
    QVERIFY(!panel_->findChild<QPushButton*>("attach")->isVisible() && !tab()->running());
    table()->selectRow(0);
    QVERIFY(!panel_->findChild<QPushButton*>("removeRun")->isEnabled());
    QVERIFY(!panel_->findChild<QPushButton*>("attachSelected")->isEnabled());
    QVERIFY(QDir(directory).exists("output"));
  }

  void every_run_that_was_left_can_be_attached_to_and_the_newest_is_offered() {
    std::array<QLocalServer, 2> servers;
    for (QLocalServer& server : servers) {
      const QString directory = make_left(server, QString("left%1").arg(&server - servers.data()));
      store().add(*plan_, server.fullServerName(), directory);
    }
    panel_->set_store(store());
    auto* attach = panel_->findChild<QPushButton*>("attachSelected");
    for (const int row : {0, 1}) {
      table()->selectRow(row);
      QVERIFY2(attach->isEnabled(), qPrintable(QString::number(row)));
    }
    QCOMPARE(tab()->running()->id, store().runs().at(0).id);
    attach->click();
    QCOMPARE(run_->stored().id, store().runs().at(1).id);
  }

  void the_runs_of_a_draft_are_those_of_the_file_that_it_is_saved_as() {
    const RunStore draft = store(), file(folder_->filePath("file"));
    const StoredRun done = record_run(3, 5);
    QLocalServer server, other;
    const StoredRun left = draft.add(*plan_, server.fullServerName(), make_left(server));
    QVERIFY(other.listen(folder_->filePath("other")));
    const StoredRun of_another_window = draft.add(*plan_, other.fullServerName(), {});
    file.take_over(draft, {});
    QCOMPARE(draft.runs().size(), size_t{1});
    QCOMPARE(draft.runs().at(0).id, of_another_window.id);
    QCOMPARE(file.runs().size(), size_t{2});
    QCOMPARE(file.runs().at(1).record, done.record);
    QCOMPARE(file.runs().at(1).work, done.work);
    panel_->set_store(file);
    QVERIFY(tab()->running() && tab()->running()->id == left.id);
    table()->item(1, 0)->setCheckState(Qt::Checked);
    QTRY_COMPARE_WITH_TIMEOUT(table()->item(1, 2)->text(), QString("finished"), patience);
    file.remove(file.runs().at(1));
    QVERIFY(!QDir(done.record).exists());
    file.take_over(draft, of_another_window.id);
    QVERIFY(draft.runs().empty());
  }

  void what_was_made_for_a_run_goes_with_it_and_with_the_end_of_one_that_was_left() {
    QLocalServer server;
    const QString directory = make_left(server);
    const StoredRun run = store().add(*plan_, server.fullServerName(), directory);
    server.close();
    panel_->set_store(store());  // it was left and has ended
    QVERIFY(!QDir(directory).exists());
    QVERIFY(!make_left(server).isEmpty());
    server.close();
    store().remove(run);
    QVERIFY(!QDir(directory).exists() && store().runs().empty());
  }

  void a_run_is_in_the_history_as_soon_as_it_starts() {
    panel_->set_store(store());
    QSignalSpy states(run_.get(), &RunControl::stateChanged);
    run_->start(plan_);
    QVERIFY(states.count() >= 1);
    QCOMPARE(table()->rowCount(), 1);
    QCOMPARE(run_->stored().id, store().runs().at(0).id);
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::failed, patience);  // there is no such program
  }

  void a_record_that_had_no_end_when_it_was_read_is_read_again() {
    const StoredRun stored = store().add(*plan_, {}, {});
    RunRecorder recorder(stored.record.toStdString(), Existing::refuse, {}, hello(), plan_->machine);
    recorder.begin();
    for (int i = 0; i < 5; ++i) recorder.add(step(i, 5));
    panel_->set_store(store());
    table()->item(0, 0)->setCheckState(Qt::Checked);
    QTRY_COMPARE_WITH_TIMEOUT(table()->item(0, 2)->text(), QString("without an end"), patience);
    for (int i = 5; i < 12; ++i) recorder.add(step(i, 4));
    recorder.add(FinishedMessage{RunEnd::finished, 12});
    tab()->refresh();
    QTRY_COMPARE_WITH_TIMEOUT(table()->item(0, 2)->text(), QString("finished"), patience);
    QVERIFY(table()->item(0, 3)->text().startsWith("12 of"));
    QVERIFY(!tab()->is_busy());
    tab()->refresh();
    QVERIFY(!tab()->is_busy());  // nothing more can come
  }

  void curves_that_nobody_sees_are_drawn_when_they_are_seen() {
    run_->begin_replay(plan_);
    for (int i = 0; i < 5; ++i) run_->receive(step(i, 6));
    const auto points = [this] {
      qsizetype most = 0;
      for (const QAbstractSeries* series : losses()->chart()->series())
        if (const auto* line = qobject_cast<const QLineSeries*>(series))
          most = std::max<qsizetype>(most, line->count());
      return most;
    };
    QTRY_VERIFY_WITH_TIMEOUT(losses(), patience);
    QCOMPARE(points(), qsizetype{5});
    auto* tabs = panel_->findChild<QTabWidget*>();
    const int curves = tabs->currentIndex();
    tabs->setCurrentWidget(tab());
    for (int i = 5; i < 9; ++i) run_->receive(step(i, 6));
    QCOMPARE(points(), qsizetype{5});
    tabs->setCurrentIndex(curves);
    QCOMPARE(points(), qsizetype{9});
    tabs->setCurrentWidget(tab());
    run_->receive(step(9, 6));
    QVERIFY(panel_->curves().chart("loss"));  // of which a picture may be taken
    QCOMPARE(points(), qsizetype{10});
  }

  void the_rank_whose_lines_are_shown_stays_chosen_however_long_the_log_gets() {
    run_->begin_replay(plan_);
    const auto tell = [this](int from, int count) {
      SnapshotMessage lines;
      for (int i = from; i < from + count; ++i) lines.log.push_back({i % 2, "line " + std::to_string(i)});
      run_->receive(lines);
    };
    tell(0, 2);
    auto* ranks = panel_->findChild<QComboBox*>("logRank");
    ranks->setCurrentIndex(ranks->findText("rank 1"));
    auto* text = panel_->findChild<QPlainTextEdit*>("log");
    for (int part = 0; part < 6; ++part) {
      tell(2 + 4000 * part, 4000);
      QCOMPARE(ranks->currentText(), QString("rank 1"));
      QVERIFY2(text->toPlainText().endsWith(QString("line %1").arg(4001 + 4000 * part)),
               qPrintable(text->toPlainText().right(40)));
      QVERIFY(!text->toPlainText().contains("line 4\n"));
    }
    QCOMPARE(run_->record().log_dropped + std::ssize(run_->record().log), int64_t{24002});
  }

  void a_run_that_ends_before_it_is_attached_to_is_reported() {
    StoredRun gone;
    gone.id = "20260101-000000-000";
    gone.socket = folder_->filePath("socket");
    run_->attach(gone, plan_);
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::failed, patience);
    QVERIFY2(run_->state_text().contains("has ended"), qPrintable(run_->state_text()));
    QVERIFY(!run_->is_active());
  }
};

REGISTER_WINDOW_TEST(HistoryTest)

}  // namespace history_test

#include "history_test.moc"
