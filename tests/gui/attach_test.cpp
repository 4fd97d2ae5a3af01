#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QFile>
#include <QLineEdit>
#include <QLocalServer>
#include <QLocalSocket>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>
#include <algorithm>
#include <limits>
#include <random>

#include "engine/compile/document_of.h"
#include "engine/machine/host_machine.h"
#include "engine/session/hello.h"
#include "gui/window/attach_dialog.h"
#include "tests/gui/hostile_server.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/machine/host_rates.h"
#include "tests/test_program.h"
#include "viz/paint/timeline_ranks.h"

namespace attach_test {

using namespace shardscope;

// Watching a run that was started elsewhere, by its socket. In the place of the run stands a server of the test.
class AttachTest : public WindowCase {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<QLocalServer> server_;

  RunControl& run() { return workspace().run; }
  QString path() { return folder_->filePath("socket"); }

  QString problems() {
    QStringList lines;
    const auto* tree = window_->findChild<QTreeWidget*>("problems");
    for (int row = 0; row < tree->topLevelItemCount(); ++row)
      lines << tree->topLevelItem(row)->text(0) + " " + tree->topLevelItem(row)->text(1);
    return lines.join('\n');
  }

  static Plan plan_of(RunConfig config) {
    Machine machine = standard_host();
    machine.name = "another machine";
    test::copy_rate(machine) *= 3;
    config.hosts = "a:1,b:1";
    return compile({config, with_hosts(machine, {1, 1})});
  }

  // The end of a connection that the window has made; who only looked whether somebody answers has gone again.
  QLocalSocket* greet(const QByteArray& text) {
    QLocalSocket* client = nullptr;
    const bool came = QTest::qWaitFor(
        [&] {
          while (server_->hasPendingConnections()) {
            client = server_->nextPendingConnection();
            client->write(text);
            client->flush();
          }
          return run().record().hello || run().state() == RunControl::State::failed;
        },
        patience);
    return came ? client : nullptr;
  }

  void leave_dead_socket() {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const QByteArray name = path().toUtf8();
    std::copy(name.begin(), name.end(), address.sun_path);
    QVERIFY(socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    ::close(socket);
  }

  static constexpr const char* all_reported = "all is reported";

  bool log_has(const QString& words) {
    return std::ranges::any_of(
        run().record().log, [&](const LogMessage& line) { return QString::fromStdString(line.text).contains(words); });
  }

  // What a run of the plan may say, and must not.
  static HostileServer::Piece pieces(const QString& kind, const Plan& plan) {
    const auto once = [](std::string bytes) {
      return [bytes = std::move(bytes)](int number) { return number == 0 ? bytes : std::string(); };
    };
    const std::string end = to_json_line(LogMessage{-1, all_reported});
    const auto reported = [&](int count, const std::function<Message(int)>& message) {
      std::string bytes;
      for (int i = 0; i < count; ++i) bytes += to_json_line(message(i));
      return once(bytes + end);
    };
    const auto repeated = [](int times, std::string bytes) {
      return [times, bytes = std::move(bytes)](int number) { return number < times ? bytes : std::string(); };
    };
    if (kind == "newlines") return repeated(3, std::string(1 << 20, '\n'));
    if (kind == "one line") return repeated(300, std::string(1 << 20, 'x'));
    if (kind == "noise") {
      return [](int number) {
        std::mt19937 random(static_cast<unsigned>(number));
        std::string bytes(1 << 16, ' ');
        for (char& byte : bytes) byte = static_cast<char>(random());
        return number < 50 ? bytes : std::string();
      };
    }
    if (kind == "nested") return once("{\"message\":" + std::string(1 << 20, '[') + "\n" + end);
    if (kind == "numbers") {
      std::string line = "{\"message\":\"trace\",\"ranks\":[[0";
      for (int i = 0; i < 20'000'000; ++i) line += ",0";
      return once(line + "]]}\n" + end);
    }
    if (kind == "losses") {
      return reported(2000, [](int i) {
        using Limits = std::numeric_limits<double>;
        constexpr double values[] = {1.7e308,          -1.7e308, Limits::max(),        -Limits::max(), 0.0,
                                     Limits::min(),    -0.0,     Limits::denorm_min(), 1e300,          3.4e38,
                                     Limits::epsilon()};
        const double value = values[static_cast<size_t>(i) % std::size(values)];
        const PhaseMs phases{value, -value, value, value};
        return StepMessage{i,
                           {{"loss", value}, {"val_accuracy", -value}},
                           value,
                           {{0, INT64_MAX, INT64_MIN, INT64_MAX, value, INT64_MAX, 0, 0, phases, phases, phases}}};
      });
    }
    if (kind == "steps") {
      return reported(20000, [](int i) {
        const int64_t step = i % 3 == 0   ? i
                             : i % 3 == 1 ? message_limits::steps - 1 - i
                                          : message_limits::steps / (i + 1);
        return StepMessage{step, {{"loss", 1.0}}, 1, {}};
      });
    }
    if (kind == "ranks")
      return reported(message_limits::ranks, [](int i) {
        return RankStateMessage{message_limits::ranks - 1 - i, RankState::running, i};
      });
    if (kind == "lines")
      return reported(400'000, [](int i) {
        return LogMessage{i % message_limits::ranks, "line " + std::to_string(i)};
      });
    if (kind == "long lines") return reported(40, [](int) { return LogMessage{0, std::string(1 << 20, 'w')}; });
    if (kind == "hello") return reported(2000, [&](int) { return hello_of(plan); });
    if (kind == "metrics")
      return reported(3000, [](int i) { return StepMessage{i, {{"m" + std::to_string(i), 1}, {"loss", 2}}, 1, {}}; });
    if (kind == "restarts") return reported(100'000, [](int i) { return RestartMessage{i, i, {}}; });
    if (kind == "traces") {
      const auto count = static_cast<size_t>(plan.instructions().size());
      return reported(200, [count](int i) {
        std::vector<PlanStepTime> times(count, {0, INT64_MAX / 2, INT64_MAX});
        times.front() = {0, 0, 1};
        return TraceMessage{static_cast<TraceChoice>(i % 3), i, {times}};
      });
    }
    return {};
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    server_ = std::make_unique<QLocalServer>();
    open_window(compiled_plans(), made::small_gpt(1, 1, 1));
  }

  void cleanup() {
    run().leave();
    close_window();
  }

  void what_a_run_says_of_itself_becomes_the_document_and_its_plan() {
    const Plan theirs = plan_of(made::small_gpt(2, 2, 1));
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    const RankStateMessage rank{0, RankState::running, 7};
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello_of(theirs)) + to_json_line(rank))));
    QTRY_VERIFY2_WITH_TIMEOUT(run().plan(), qPrintable(problems()), patience);
    QVERIFY(planner().is_current());
    const RunConfig their_file = document_of(theirs);
    QCOMPARE(document().config().hosts, their_file.hosts);
    QVERIFY(document().config().mesh_axes == their_file.mesh_axes);
    QVERIFY(document().path().isEmpty() && !document().is_modified());
    QCOMPARE(plan().hash, theirs.hash);
    QVERIFY((plan().ranks_per_host == std::vector<int>{1, 1}));
    QVERIFY(workspace().matching_run());
    QCOMPARE(run().state(), RunControl::State::running);
    set_axis_size(document(), 0, 4);  // hosts of two ranks are none of four
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QCOMPARE(planner().errors().front().place.path, std::string("hosts"));
    set_hosts(document(), "");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(plan().machine.name, std::string("another machine"));
    document().reset(made::small_gpt(1, 1, 1), {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(plan().machine.name != "another machine");
  }

  void a_run_of_the_plan_that_is_shown_changes_nothing_of_the_document() {
    const std::shared_ptr<const Plan> shown = planner().plan();
    set_axis_size(document(), 0, 2);
    set_axis_size(document(), 0, 1);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current() && plan().hash == shown->hash, patience);
    const int edits = document().undo_stack().count();
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello_of(*shown)))));
    QTRY_VERIFY_WITH_TIMEOUT(run().plan(), patience);
    QCOMPARE(document().undo_stack().count(), edits);
  }

  void the_dialog_says_what_is_wrong_with_a_path_and_where() {
    QFile file(folder_->filePath("file"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    leave_dead_socket();
    const std::vector<std::pair<QString, QString>> faults{{"", "no such file"},
                                                          {folder_->filePath("none"), "no such file"},
                                                          {file.fileName(), "no socket"},
                                                          {path(), "nobody answers"}};
    QStringList said;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<AttachDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      timer.stop();
      for (const auto& [wrong, words] : faults) {
        dialog->findChild<QLineEdit*>("socketPath")->setText(wrong);
        dialog->accept();
        said << dialog->findChild<QLabel*>("socketFault")->text();
      }
      dialog->reject();
    });
    timer.start(5);
    window_->findChild<QAction*>("attachSocket")->trigger();
    QCOMPARE(said.size(), qsizetype(faults.size()));
    for (qsizetype i = 0; i < said.size(); ++i) {
      const auto& [wrong, words] = faults[size_t(i)];
      QVERIFY2(said[i].contains(words) && said[i].contains(wrong), qPrintable(said[i]));
    }
    window_->socket_watch().attach(path());
    QVERIFY2(problems().contains("nobody answers") && problems().contains(path()), qPrintable(problems()));
    QVERIFY(!run().is_active());
  }

  void a_run_of_another_build_is_reported_with_its_place() {
    HelloMessage hello = hello_of(plan_of(made::small_gpt(2, 2, 1)));
    ++hello.plan_hash;
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello))));
    QTRY_VERIFY_WITH_TIMEOUT(problems().contains("another"), patience);
    QVERIFY2(problems().contains(path()), qPrintable(problems()));
    QVERIFY(run().is_active() && !run().plan() && !workspace().matching_run());
  }

  void a_run_file_that_this_build_cannot_read_is_reported_and_the_run_is_let_go() {
    HelloMessage hello = hello_of(plan_of(made::small_gpt(2, 2, 1)));
    hello.config_json.insert(1, "\"colour\": 3,");
    const RunConfig before = document().config();
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello))));
    QTRY_VERIFY_WITH_TIMEOUT(problems().contains("colour"), patience);
    QVERIFY2(problems().contains(path()), qPrintable(problems()));
    QVERIFY(!run().is_active());
    QVERIFY(document().config() == before);
  }

  void what_answers_and_is_no_run_has_failed() {
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet("HTTP/1.1 200 OK\n"));
    QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::failed, patience);
    QVERIFY2(run().state_text().contains("no run") && run().state_text().contains(path()),
             qPrintable(run().state_text()));
    QVERIFY(!run().is_active());
  }

  void whatever_a_socket_sends_the_window_goes_on_data() {
    QTest::addColumn<QString>("said");  // in the log; empty: all is taken
    QTest::addColumn<bool>("ends");     // the connection
    QTest::newRow("newlines") << "more than 20 lines are no messages" << true;
    QTest::newRow("noise") << "more than 20 lines are no messages" << true;
    QTest::newRow("one line") << "run socket: a line of more than 128 MiB" << true;
    QTest::newRow("nested") << "nested too deeply" << false;
    QTest::newRow("numbers") << "more than 512 MiB of memory" << false;
    for (const char* kind :
         {"losses", "steps", "ranks", "lines", "long lines", "hello", "metrics", "restarts", "traces"})
      QTest::newRow(kind) << QString() << false;
  }
  void whatever_a_socket_sends_the_window_goes_on() {
    QFETCH(QString, said);
    QFETCH(bool, ends);
    HelloMessage hello = hello_of(plan());
    if (QTest::currentDataTag() == QString("ranks")) hello.ranks = message_limits::ranks;
    const HostileServer hostile(path().toStdString(), to_json_line(hello), pieces(QTest::currentDataTag(), plan()));
    QVERIFY(hostile.is_listening());
    int turns = 0;
    QTimer heart;
    connect(&heart, &QTimer::timeout, this, [&] { ++turns; });
    window_->socket_watch().attach(path());
    auto* tabs = window_->run_panel().findChild<QTabWidget*>();
    QVERIFY(tabs && tabs->count() > 3);
    heart.start(0);
    if (ends) QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::failed, 2 * patience);
    else QTRY_VERIFY_WITH_TIMEOUT(log_has(all_reported), 2 * patience);
    QVERIFY(said.isEmpty() || log_has(said));
    QVERIFY(hostile.sent() < message_limits::line_bytes + (32 << 20));
    QVERIFY(ends || turns > 5);  // a connection that is ended may be so in the first
    for (const char* page : {"timeline", "pipeline", "layout"}) {
      QVERIFY(window_->show_page(page));
      for (int tab = 0; tab < tabs->count(); ++tab) {
        tabs->setCurrentIndex(tab);
        QVERIFY(!window_->grab().isNull());
      }
    }
    const int before = turns;
    QTRY_VERIFY_WITH_TIMEOUT(turns > before + 20, patience);
    if (ends) QVERIFY2(run().state_text().contains(said) && !run().is_active(), qPrintable(run().state_text()));
    size_t kept = 0;
    for (const LogMessage& line : run().record().log) kept += line.text.size();
    QVERIFY(kept <= size_t{16} << 20 && run().record().log.size() <= 10000);
    QVERIFY(run().record().restarts.size() <= 2000);
    QVERIFY(std::ssize(run().record().ranks) <= hello.ranks);
    QVERIFY(run().record().steps().size() <= 20000);
  }

  void a_run_that_rematerialises_shows_when_its_instructions_ran() {
    RunConfig config = made::piped_gpt(2, 1, 1, 2);
    config.schedule.rematerialise = "full";
    document().reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const HelloMessage hello = hello_of(plan());
    TraceMessage trace{TraceChoice::latest, 1, {}};
    int recomputed = 0;
    for (int rank = 0; rank < hello.ranks; ++rank) {
      std::vector<PlanStepTime>& times = trace.ranks.emplace_back();
      for (const PlanStepName& step : hello.plan_steps.of(rank)) {
        const int64_t begin = times.empty() ? 0 : times.back().end_ns;
        times.push_back({begin, begin, begin + 1'000'000});
        recomputed += step.phase == Phase::recompute;
      }
    }
    QVERIFY(recomputed > 0);
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello) + to_json_line(trace))));
    QTRY_VERIFY_WITH_TIMEOUT(workspace().matching_run() && run().record().trace(TraceChoice::latest), patience);
    QVERIFY(run().record().log.empty());
    QVERIFY(measured_step(plan(), run().record().trace(TraceChoice::latest)->ranks));
    for (int stage = 0; stage < plan().program.stages; ++stage)
      QVERIFY(run().record().plan_step_time(plan().instructions(stage).size() - 1, stage));
  }

  void a_forwarded_socket_behind_which_nobody_is_has_failed() {
    QVERIFY(server_->listen(path()));
    connect(server_.get(), &QLocalServer::newConnection, server_.get(), [this] {
      while (server_->hasPendingConnections()) delete server_->nextPendingConnection();
    });
    window_->socket_watch().attach(path());
    QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::failed, patience);
    QVERIFY2(run().state_text().contains(path()), qPrintable(run().state_text()));
  }

  void stop_asks_before_it_ends_the_run_of_others_and_detach_lets_it_continue() {
    const auto answer_with = [this](const char* text) {
      int asked = 0;
      QTimer timer;
      connect(&timer, &QTimer::timeout, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (!box || asked++) return;
        for (QAbstractButton* button : box->buttons())
          if (button->text().remove('&') == text) return button->click();
        box->reject();
      });
      timer.start(5);
      window_->findChild<QAction*>("stop")->trigger();
      return asked;
    };
    QVERIFY(server_->listen(path()));
    run().attach(path());
    QLocalSocket* client = greet(QByteArray::fromStdString(to_json_line(hello_of(plan()))));
    QVERIFY(client && run().is_attached() && run().is_active());
    QCOMPARE(answer_with("Cancel"), 1);
    QVERIFY(run().is_active() && run().state() != RunControl::State::stopping);
    QCOMPARE(answer_with("Stop the run"), 1);
    QCOMPARE(run().state(), RunControl::State::stopping);
    QTRY_VERIFY_WITH_TIMEOUT(client->bytesAvailable() > 0, patience);
    QVERIFY(client->readAll().contains("stop"));
    QVERIFY(window_->findChild<QAction*>("detach")->isEnabled());
    window_->findChild<QAction*>("detach")->trigger();
    QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::idle, patience);
    QVERIFY(!window_->findChild<QAction*>("detach")->isEnabled());
  }
};

REGISTER_WINDOW_TEST(AttachTest)

}  // namespace attach_test

#include "attach_test.moc"
