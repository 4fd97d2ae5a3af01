#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QFile>
#include <QLineEdit>
#include <QLocalServer>
#include <QLocalSocket>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>
#include <algorithm>

#include "engine/session/hello.h"
#include "gui/planning/chosen_network.h"
#include "gui/window/attach_dialog.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"

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

  static Plan plan_of(const RunConfig& config) {
    DeviceProfile profile = standard_profile();
    profile.name = "another machine";
    profile.collective_bytes_per_core *= 3;
    profile.ranks_per_host = {1, 1};
    return compile(config, profile);
  }

  // The end of a connection that the window has made; who only looked whether somebody answers has gone again.
  QLocalSocket* greet(const QByteArray& text) {
    QLocalSocket* watcher = nullptr;
    const bool came = QTest::qWaitFor(
        [&] {
          while (server_->hasPendingConnections()) {
            watcher = server_->nextPendingConnection();
            watcher->write(text);
            watcher->flush();
          }
          return run().record().hello || run().state() == RunControl::State::failed;
        },
        patience);
    return came ? watcher : nullptr;
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
    QTRY_VERIFY_WITH_TIMEOUT(run().plan(), patience);
    QVERIFY(planner().is_current());
    QVERIFY(document().config() == theirs.config);
    QVERIFY(document().path().isEmpty() && !document().is_modified());
    QCOMPARE(plan().hash, theirs.hash);
    QVERIFY((plan().profile.ranks_per_host == std::vector<int>{1, 1}));
    QVERIFY(workspace().matching_run());
    QCOMPARE(run().state(), RunControl::State::running);
    set_axis_size(document(), 0, 4);  // hosts of two ranks are none of four
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(plan().profile.name, std::string("another machine"));
    QVERIFY(plan().profile.ranks_per_host.empty());
    document().reset(made::small_gpt(1, 1, 1), {});
    QVERIFY(!watched_profile());
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

  void a_run_of_another_build_is_told_with_its_place() {
    HelloMessage hello = hello_of(plan_of(made::small_gpt(2, 2, 1)));
    ++hello.plan_hash;
    QVERIFY(server_->listen(path()));
    window_->socket_watch().attach(path());
    QVERIFY(greet(QByteArray::fromStdString(to_json_line(hello))));
    QTRY_VERIFY_WITH_TIMEOUT(problems().contains("another"), patience);
    QVERIFY2(problems().contains(path()), qPrintable(problems()));
    QVERIFY(run().is_active() && !run().plan() && !workspace().matching_run());
  }

  void a_run_file_that_this_build_cannot_read_is_told_and_the_run_is_let_go() {
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

  void a_forwarded_socket_behind_which_nobody_is_has_failed() {
    QVERIFY(server_->listen(path()));
    connect(server_.get(), &QLocalServer::newConnection, server_.get(), [this] {
      while (server_->hasPendingConnections()) delete server_->nextPendingConnection();
    });
    window_->socket_watch().attach(path());
    QTRY_COMPARE_WITH_TIMEOUT(run().state(), RunControl::State::failed, patience);
    QVERIFY2(run().state_text().contains(path()), qPrintable(run().state_text()));
  }
};

QTEST_MAIN(AttachTest)
#include "attach_test.moc"
