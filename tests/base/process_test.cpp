#include "engine/base/process.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTest>
#include <csignal>

#include "tests/test_program.h"

namespace process_test {

using namespace shardscope;
using Presence = ProcessObservation::Presence;

class ProcessTest : public QObject {
  Q_OBJECT

 private slots:
  void a_process_is_alive_until_it_has_ended() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    const ProcessObservation observation = look_at_process(child);
    QCOMPARE(observation.presence, Presence::there);
    QCOMPARE(observation.info.parent, ::getpid());
    QVERIFY(observation.info.id.start_time > 0 && is_alive(observation.info.id));
    QVERIFY(is_alive({child, 0}));
    QVERIFY(!is_alive({child, observation.info.id.start_time + 1}));  // its number, another process
    ::kill(child, SIGKILL);
    siginfo_t ended{};
    QCOMPARE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    QCOMPARE(look_at_process(child).info.state, 'Z');
    QVERIFY(!is_alive(observation.info.id));
    ::waitpid(child, nullptr, 0);
    QCOMPARE(look_at_process(child).presence, Presence::gone);
    QVERIFY(!is_alive(observation.info.id));
  }

  void what_cannot_be_read_is_unknown_and_never_gone() {
    const ProcessId self = this_process();
    rlimit limit{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlimit none{0, limit.rlim_max};
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const Presence presence = look_at_process(self.pid).presence;
    const bool alive = is_alive(self);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    QCOMPARE(presence, Presence::unknown);
    QVERIFY(alive);
    QCOMPARE(look_at_process(self.pid).presence, Presence::there);
    QVERIFY(is_alive({0, 0}));
  }
};

REGISTER_TEST(ProcessTest)

}  // namespace process_test

#include "process_test.moc"
