#include <signal.h>

#include <QDir>
#include <QFile>
#include <QLocalServer>
#include <QLocalSocket>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <algorithm>
#include <utility>

#include "engine/config/parse.h"
#include "gui/run/run_control.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/own_settings.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace run_control_test {

using namespace shardscope;

// What a run tells, and what of it arrives. In the place of shardrun stands a script that ends when it is asked to;
// what shardrun would send comes from a socket of the test.
class RunControlTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<QLocalServer> server_;
  std::unique_ptr<RunControl> run_;
  std::shared_ptr<const Plan> plan_;

  QString path(const char* name) { return folder_->filePath(name); }
  // Of the program that was started last: it has come to its socket.
  QStringList arguments() {
    QFile file(path("arguments"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split('\n') : QStringList();
  }
  void end_process() { QFile::remove(path("running")); }
  // What a run listens to goes with it: who comes again finds nobody, and does not wait for words.
  void end_with(QLocalSocket* client) {
    server_->close();
    end_process();
    client->disconnectFromServer();
  }
  // Of the script, once it has come to its socket.
  pid_t process() {
    QFile file(path("arguments.pid"));
    return file.open(QIODevice::ReadOnly) ? static_cast<pid_t>(file.readAll().trimmed().toInt()) : 0;
  }

  // A run of which so many steps are known; `client` is its end of the connection.
  void run_steps(int64_t steps, QLocalSocket*& client) {
    client = accept();
    QVERIFY(client);
    send(client, HelloMessage{"", plan_->hash, 2, {}, {"loss"}});
    send(client, snapshot(steps));
    send(client, step(steps));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), steps + 1, patience);
    QCOMPARE(run_->state(), RunControl::State::running);
  }

  static Request next_request(QLocalSocket* client) {
    const bool came = QTest::qWaitFor([client] { return client->canReadLine(); }, patience);
    return came ? parse_request(client->readLine().toStdString()) : Request::steps(-1, -1);
  }

  // The next client's connection.
  QLocalSocket* accept() {
    if (!QTest::qWaitFor([this] { return server_->hasPendingConnections(); }, patience)) return nullptr;
    return server_->nextPendingConnection();
  }

  static void send(QLocalSocket* client, const Message& message) {
    client->write(QByteArray::fromStdString(to_json_line(message)));
  }

  static StepMessage step(int64_t number) {
    StepMessage message;
    message.step = number;
    message.metrics = {{"loss", 1.0}};
    return message;
  }

  static SnapshotMessage snapshot(int64_t steps) {
    SnapshotMessage message;
    for (int64_t i = 0; i < steps; ++i) message.steps.push_back(step(i));
    message.ranks = {{0, RankState::running, 1}, {1, RankState::running, 2}};
    message.log = {{-1, "first"}};
    if (steps > 3) message.log.push_back({0, "second"});
    return message;
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    server_ = std::make_unique<QLocalServer>();
    QVERIFY(server_->listen(path("socket")));
    QFile running(path("running")), script(path("shardrun"));
    QVERIFY(running.open(QIODevice::WriteOnly) && script.open(QIODevice::WriteOnly));
    const QString text =
        "#!/bin/sh\ntrap 'echo > %3.paused' TSTP\ntrap 'echo > %3.resumed' CONT\nprintf '%s\\n' \"$@\" > %3\n"
        "echo $$ > %3.pid\n[ -e %3.stubborn ] && trap 'echo > %3.terminated' TERM\n"
        "ln -s %1 \"$4\"\nwhile [ -e %2 ]; do sleep 0.01; done\n"
        "[ ! -e %3.words ] || { cat %3.words >&2; exit 3; }\n";
    script.write(text.arg(path("socket"), path("running"), path("arguments")).toUtf8());
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    run_ = std::make_unique<RunControl>(path("shardrun"));
    plan_ = std::make_shared<const Plan>(made::plan(made::config()));
    run_->start(plan_);
  }

  void cleanup() {
    end_process();
    run_.reset();
  }

  void what_is_on_its_way_when_the_run_ends_arrives() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    send(client, HelloMessage{"", plan_->hash, 2, {}, {"loss"}});
    send(client, snapshot(0));
    constexpr int64_t many = 20000;
    for (int64_t i = 0; i < many; ++i) send(client, step(i));
    send(client, FinishedMessage{RunEnd::finished, many});
    server_->close();
    end_process();
    connect(client, &QLocalSocket::bytesWritten, client, [client] {
      if (client->bytesToWrite() == 0) client->disconnectFromServer();
    });
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->record().steps_received(), many);
    QVERIFY(run_->record().steps().size() < 5000);
    QCOMPARE(run_->state(), RunControl::State::finished);
    QCOMPARE(run_->state_text(), QString("finished: 20000 steps"));
  }

  void a_run_is_paused_and_goes_on() {
    QLocalSocket* client = accept();
    QVERIFY(client && !run_->can_pause());
    send(client, HelloMessage{"", plan_->hash, 2, {}, {"loss"}});
    send(client, snapshot(3));
    send(client, step(3));
    QTRY_VERIFY_WITH_TIMEOUT(run_->can_pause() && run_->record().completed() == 4, patience);
    run_->toggle_pause();
    QVERIFY(run_->is_paused() && run_->is_active());
    QVERIFY2(run_->state_text().startsWith("paused after step 4"), qPrintable(run_->state_text()));
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(path("arguments.paused")), patience);
    QVERIFY(!QFile::exists(path("arguments.resumed")));
    run_->toggle_pause();
    QVERIFY(!run_->is_paused());
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(path("arguments.resumed")), patience);
    run_->toggle_pause();
    QVERIFY(run_->is_paused());
    run_->stop();  // lets it go on, so that it can end
    QVERIFY(!run_->is_paused());
    end_with(client);
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
  }

  void a_client_that_was_sent_away_comes_again_and_misses_nothing() {
    for (const int64_t steps : {3, 7}) {
      QLocalSocket* client = accept();
      QVERIFY(client);
      send(client, HelloMessage{"", plan_->hash, 2, {}, {"loss"}});
      send(client, snapshot(steps));
      QTRY_COMPARE_WITH_TIMEOUT(run_->record().steps().size(), size_t(steps), patience);
      if (steps == 7) send(client, FinishedMessage{RunEnd::finished, 7});
      client->disconnectFromServer();
    }
    for (size_t i = 0; i < 7; ++i) QCOMPARE(run_->record().steps()[i].step, int64_t(i));
    server_->close();
    end_process();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->state_text(), QString("finished: 7 steps"));
    QCOMPARE(run_->record().log.size(), size_t{2});
  }

  void what_it_missed_while_it_was_away_is_asked_for() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    send(client, snapshot(3));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{3}, patience);
    client->disconnectFromServer();
    client = accept();
    QVERIFY(client);
    SnapshotMessage later;
    for (int64_t i = 50; i < 60; ++i) later.steps.push_back(step(i));
    send(client, later);
    for (const auto& [from, to] : {std::pair(3, 30), {30, 50}}) {
      QTRY_VERIFY_WITH_TIMEOUT(client->canReadLine(), patience);
      QVERIFY(parse_request(client->readLine().toStdString()) == Request::steps(from, 50));
      StepsMessage answer{from, 50, {}};
      for (int64_t i = from; i < to; ++i) answer.steps.push_back(step(i));
      send(client, answer);
    }
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().steps().size(), size_t{60}, patience);
    for (int64_t i = 0; i < 60; ++i) QCOMPARE(run_->record().steps()[size_t(i)].step, i);
    QVERIFY(!run_->record().missing());
  }

  void a_span_of_the_past_that_is_looked_at_is_asked_for_and_known_whole() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    SnapshotMessage late;
    late.past = {step(0), step(6000), step(9000)};
    for (int64_t i = 10000; i < 10100; ++i) late.steps.push_back(step(i));
    send(client, late);
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{10100}, patience);
    QCOMPARE(run_->record().steps().size(), size_t{103});
    run_->look_at({5990, 6010});
    for (const auto& [from, to] : {std::pair(5990, 6000), {6000, 6010}}) {
      QTRY_VERIFY_WITH_TIMEOUT(client->canReadLine(), patience);
      QVERIFY(parse_request(client->readLine().toStdString()) == Request::steps(from, 6010));
      StepsMessage answer{from, 6010, {}};
      for (int64_t i = from; i < to; ++i) answer.steps.push_back(step(i));
      send(client, answer);
    }
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().steps().size(), size_t{122}, patience);
    QVERIFY(std::ranges::is_sorted(run_->record().steps(), {}, &StepMessage::step));
    run_->look_at({0, 10000});  // more than can be looked at closely
    QVERIFY(!run_->record().missing());
    QCOMPARE(run_->record().steps().size(), size_t{103});
  }

  void bytes_become_messages_in_their_order_in_whatever_pieces_they_come() {
    std::vector<int64_t> steps;
    int ends = 0, lines = 0;
    QStringList broken;
    MessageReader reader(
        [&](const Message& message) {
          if (const auto* reported = std::get_if<StepMessage>(&message)) steps.push_back(reported->step);
          lines += std::holds_alternative<LogMessage>(message);
        },
        [&] { ++ends; }, [&](const QString& why) { broken << why; });
    QByteArray bytes;
    for (int64_t i = 0; i < 50; ++i) bytes += QByteArray::fromStdString(to_json_line(step(i)));
    bytes += "no message\n";
    for (qsizetype at = 0; at < bytes.size(); at += 37) reader.feed(bytes.mid(at, 37));
    reader.feed("{\"message\": \"st");  // of a connection that ends in a line
    reader.end();
    QVERIFY(reader.is_busy());
    QTRY_COMPARE_WITH_TIMEOUT(ends, 1, patience);
    QVERIFY(!reader.is_busy());
    QCOMPARE(steps.size(), size_t{50});
    QVERIFY(std::ranges::is_sorted(steps));
    QCOMPARE(lines, 1);
    reader.feed(QByteArray::fromStdString(to_json_line(step(50))));
    QTRY_VERIFY_WITH_TIMEOUT(!reader.is_busy(), patience);
    QCOMPARE(steps.back(), int64_t{50});
    reader.feed(QByteArray::fromStdString(to_json_line(step(51))));
    reader.forget();
    reader.feed(QByteArray::fromStdString(to_json_line(step(52))));
    QTRY_VERIFY_WITH_TIMEOUT(!reader.is_busy(), patience);
    QCOMPARE(steps.size(), size_t{52});
    QCOMPARE(steps.back(), int64_t{52});
    QVERIFY(broken.isEmpty());
    const QByteArray next = QByteArray::fromStdString(to_json_line(step(53)));
    reader.feed(QByteArray("no message\n").repeated(MessageReader::most_bad_lines + 1) + next);
    reader.feed(next);
    QTRY_VERIFY_WITH_TIMEOUT(!reader.is_busy(), patience);
    QCOMPARE(broken.size(), 1);
    QCOMPARE(lines, 2 + MessageReader::most_bad_lines);
    QCOMPARE(steps.size(), size_t{52});
    reader.end();
    reader.feed(next);  // of another connection
    QTRY_VERIFY_WITH_TIMEOUT(!reader.is_busy(), patience);
    QCOMPARE(steps.back(), int64_t{53});
  }

  void messages_are_given_out_in_many_turns_of_the_event_loop() {
    constexpr int many = 200'000;
    int taken = 0, turns = 0, most = 0;
    MessageReader reader(
        [&](const Message&) {
          ++taken;
          ++most;
        },
        [] {}, [](const QString&) {});
    const QByteArray line = QByteArray::fromStdString(to_json_line(LogMessage{0, std::string(200, 'x')}));
    reader.feed(line.repeated(many));  // read all at once
    QTimer heart;
    int longest = 0;
    connect(&heart, &QTimer::timeout, [&] {
      longest = std::max(longest, std::exchange(most, 0));
      ++turns;
    });
    heart.start(0);
    QTRY_COMPARE_WITH_TIMEOUT(taken, many, patience);
    longest = std::max(longest, most);
    QVERIFY2(longest <= 2 * MessageReader::most_a_turn, qPrintable(QString("%1 turns, %2").arg(turns).arg(longest)));
  }

  void a_run_of_this_window_goes_on_when_its_socket_says_what_no_run_says() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    send(client, HelloMessage{"", plan_->hash, 2, {}, {"loss"}});
    send(client, snapshot(3));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{3}, patience);
    client->write(QByteArray("\n").repeated(1000));
    const auto is_reported = [this] {
      return std::ranges::any_of(run_->record().log, [](const LogMessage& line) {
        return line.text.find("more than 20 lines are no messages of a run; nothing more") != std::string::npos;
      });
    };
    QTRY_VERIFY_WITH_TIMEOUT(is_reported(), patience);
    QVERIFY(run_->is_active() && run_->state() != RunControl::State::failed);
    end_process();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->state(), RunControl::State::finished);
  }

  void a_run_that_is_left_goes_on_and_the_next_one_is_watched() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    send(client, snapshot(3));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{3}, patience);
    const StoredRun left = run_->stored();
    QSignalSpy answers(run_.get(), &RunControl::leaveAnswered);
    run_->leave();
    QVERIFY(next_request(client) == Request::keep);
    QVERIFY(run_->is_active() && answers.isEmpty() && !left.is_left());
    send(client, LogMessage{LogMessage::supervisor, std::string(keep_note)});
    QTRY_COMPARE_WITH_TIMEOUT(answers.count(), 1, patience);
    QVERIFY(answers.at(0).at(0).toBool());
    QVERIFY(left.is_left() && !run_->is_active());
    QCOMPARE(run_->state(), RunControl::State::idle);
    run_->start(plan_);
    client = accept();
    QVERIFY(client);
    send(client, snapshot(5));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{5}, patience);
    QFile::remove(left.socket);
    QVERIFY(remove_left(left));
  }

  void what_takes_the_place_of_its_folder_is_left_as_it_is() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    const QString directory = run_->stored().directory, archive = path("archive");
    QVERIFY(QDir().mkdir(archive));
    for (const QString& name : {archive + "/thesis", archive + "/output"}) {
      QFile mine(name);
      QVERIFY(mine.open(QIODevice::WriteOnly));
    }
    QVERIFY(QDir().rename(directory, path("aside")) && QFile::link(archive, directory));
    end_with(client);
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QVERIFY(QFile::exists(archive + "/thesis") && QFile::exists(archive + "/output"));
    QVERIFY(QFile::exists(path("aside/run.json")));
    QVERIFY(QFile::remove(directory));
  }

  void a_run_is_started_on_the_hosts_of_its_plan() {
    QVERIFY(accept());
    end_process();
    use_own_settings();
    RunConfig config = made::config();
    config.hosts = "h0:6,h1:2";
    QFile running(path("running"));
    QVERIFY(running.open(QIODevice::WriteOnly));
    run_ = std::make_unique<RunControl>(path("shardrun"));
    run_->start(std::make_shared<const Plan>(made::plan(config)));
    QVERIFY(accept());
    QCOMPARE(load_run_config(arguments().value(1).toStdString()).hosts, std::string("h0:6,h1:2"));
  }

  void stop_waits_for_the_step_however_long_it_takes_and_a_second_one_ends_the_run_at_once() {
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    run_->stop();
    QVERIFY(next_request(client) == Request::stop);
    QVERIFY2(run_->state_text().contains("Stop again ends"), qPrintable(run_->state_text()));
    send(client, step(4));
    QTRY_COMPARE_WITH_TIMEOUT(run_->record().completed(), int64_t{5}, patience);
    QCOMPARE(run_->state(), RunControl::State::stopping);
    run_->stop();
    QVERIFY(next_request(client) == Request::kill);
    QCOMPARE(run_->state_text(), QString("ending at once"));
    run_->stop();
    send(client, FinishedMessage{RunEnd::stopped, 5});
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::stopped, patience);
    QVERIFY2(run_->is_active(), "its process has not ended");
    QVERIFY2(!client->canReadLine(), "a third call asks for nothing more");
  }

  void a_run_that_does_not_end_at_once_is_ended_by_force() {
    QVERIFY(QFile(path("arguments.stubborn")).open(QIODevice::WriteOnly));
    server_->close();
    end_process();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QVERIFY(server_->listen(path("socket")));
    QVERIFY(QFile(path("running")).open(QIODevice::WriteOnly));
    run_->start(plan_);
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    run_->end_now();
    QVERIFY(next_request(client) == Request::stop && next_request(client) == Request::kill);
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(path("arguments.terminated")), patience);
    QVERIFY(run_->is_active());
    QTRY_COMPARE_WITH_TIMEOUT(::kill(process(), 0), -1, patience);
    client->disconnectFromServer();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->state(), RunControl::State::stopped);
  }

  void an_attached_run_that_does_not_end_at_once_is_left() {
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    StoredRun attached = run_->stored();
    attached.directory.clear();
    RunControl other(path("nothing"));
    other.attach(attached, plan_);
    client = accept();
    QVERIFY(client);
    other.stop();
    other.stop();
    QVERIFY(next_request(client) == Request::stop && next_request(client) == Request::kill);
    QVERIFY(other.is_active());
    QTRY_COMPARE_WITH_TIMEOUT(other.state(), RunControl::State::idle, patience);
    QVERIFY2(run_->is_active(), "it goes on");
  }

  void a_program_that_cannot_be_started_is_a_failed_run_that_leaves_nothing() {
    RunControl other(path("nothing"));
    other.start(plan_);
    const QString directory = other.stored().directory;
    QTRY_COMPARE_WITH_TIMEOUT(other.state(), RunControl::State::failed, patience);
    QVERIFY2(other.state_text().contains("nothing could not be started"), qPrintable(other.state_text()));
    QVERIFY(!other.is_active() && other.record().is_over && !QDir(directory).exists());
  }

  void a_run_whose_process_is_killed_has_failed() {
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    const QString directory = run_->stored().directory;
    ::kill(process(), SIGKILL);
    client->disconnectFromServer();
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->state(), RunControl::State::failed);
    QCOMPARE(run_->state_text(), QString("shardrun was killed"));
    QVERIFY(!QDir(directory).exists());
  }

  void a_run_that_ends_without_a_word_has_failed_by_what_its_program_wrote() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    QFile words(path("arguments.words"));
    QVERIFY(words.open(QIODevice::WriteOnly) && words.write("first\nit is so\n") > 0);
    words.close();
    end_with(client);
    QTRY_VERIFY_WITH_TIMEOUT(!run_->is_active(), patience);
    QCOMPARE(run_->state_text(), QString("shardrun ended with code 3: it is so"));
    QCOMPARE(run_->record().log.front().text, std::string("first"));
  }

  void a_run_that_does_not_answer_is_not_left() {
    QSignalSpy answers(run_.get(), &RunControl::leaveAnswered);
    run_->leave();  // nothing is connected
    QCOMPARE(answers.count(), 1);
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    run_->leave();
    QTRY_COMPARE_WITH_TIMEOUT(answers.count(), 2, patience);
    QVERIFY(!answers.at(0).at(0).toBool() && !answers.at(1).at(0).toBool());
    QCOMPARE(run_->state(), RunControl::State::running);
    QVERIFY(!run_->stored().is_left());
  }

  void a_run_that_ends_while_it_is_to_be_left_has_been_left() {
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    QSignalSpy answers(run_.get(), &RunControl::leaveAnswered);
    run_->leave();
    send(client, FinishedMessage{RunEnd::finished, 4});
    end_with(client);
    QTRY_COMPARE_WITH_TIMEOUT(answers.count(), 1, patience);
    QVERIFY(answers.at(0).at(0).toBool() && !run_->is_active());
    QCOMPARE(run_->state(), RunControl::State::finished);
  }

  void a_run_of_a_window_that_goes_is_terminated_and_nothing_is_waited_for() {
    QLocalSocket* client = nullptr;
    run_steps(3, client);
    const QString directory = run_->stored().directory;
    run_->toggle_pause();
    run_.reset();
    QVERIFY(!QDir(directory).exists());
    QTRY_COMPARE_WITH_TIMEOUT(::kill(process(), 0), -1, patience);
  }

  void what_has_ended_is_not_revived() {
    RunControl other(path("nothing"));
    other.begin_replay(plan_);
    QCOMPARE(other.state(), RunControl::State::starting);
    other.receive(step(0));
    QVERIFY(other.state() == RunControl::State::running && other.is_active() && !other.can_pause());
    other.receive(FinishedMessage{RunEnd::interrupted, 1});
    QVERIFY(other.state() == RunControl::State::stopped && !other.is_active());
    other.receive(step(1));
    other.stop();
    other.toggle_pause();
    other.end_now();
    QVERIFY(other.state() == RunControl::State::stopped && !other.is_active());
  }

  void a_stop_that_was_asked_for_while_the_connection_was_away_is_reported_when_it_comes_again() {
    QLocalSocket* client = accept();
    QVERIFY(client);
    send(client, snapshot(3));
    send(client, step(3));
    QTRY_COMPARE_WITH_TIMEOUT(run_->state(), RunControl::State::running, patience);
    StoredRun attached = run_->stored();
    attached.directory.clear();
    RunControl other("/nowhere/shardrun");
    other.attach(attached, plan_);
    other.stop();
    client = accept();
    QVERIFY(client);
    QTRY_VERIFY_WITH_TIMEOUT(client->canReadLine(), patience);
    QVERIFY(parse_request(client->readLine().toStdString()) == Request::stop);
  }

  void steps_that_came_too_fast_to_be_read_are_counted() {
    run_->receive(step(41));
    QVERIFY(run_->state_text().contains("step 42 of"));
    run_->receive(FinishedMessage{RunEnd::finished, 100});
    QCOMPARE(run_->state_text(), QString("finished: 100 steps"));
  }

  void no_rank_is_shown_as_running_when_the_run_has_ended() {
    for (int rank = 0; rank < 3; ++rank) run_->receive(RankStateMessage{rank, RankState::running, 100 + rank});
    run_->receive(RankStateMessage{2, RankState::finished, 102});
    QCOMPARE(run_->record().state_of(1), std::string("running"));
    run_->receive(FailureMessage{1, "SIGKILL", "", "rank 1 was killed"});
    QCOMPARE(run_->record().state_of(1), std::string("SIGKILL"));
    QCOMPARE(run_->record().state_of(0), std::string("running"));
    run_->receive(FinishedMessage{RunEnd::failed, 0});
    QCOMPARE(run_->record().state_of(0), std::string("ended"));
    QCOMPARE(run_->record().state_of(1), std::string("SIGKILL"));
    QCOMPARE(run_->record().state_of(2), std::string("finished"));
  }
};

REGISTER_WINDOW_TEST(RunControlTest)

}  // namespace run_control_test

#include "run_control_test.moc"
