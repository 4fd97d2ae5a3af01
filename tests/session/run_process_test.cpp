#include "engine/session/run_process.h"
#include "engine/machine/machine_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QScopeGuard>
#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <list>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/kernel_file.h"
#include "tests/patience.h"
#include "tests/session/fake_rank.h"
#include "tests/session/socket_client.h"

using namespace shardscope;
namespace fs = std::filesystem;

namespace {

const std::vector<PlanStepName> plan_steps = {
    {"embed", Phase::forward}, {"embed_gradient", Phase::backward}, {"adam", Phase::update}};

const std::vector<std::string> metrics = {"loss", "accuracy"};

std::string own_program() { return fs::read_symlink("/proc/self/exe"); }

void set_fake(const char* mode, int64_t steps) {
  ::setenv("FAKE_MODE", mode, 1);
  ::setenv("FAKE_STEPS", std::to_string(steps).c_str(), 1);
}

RunOptions options_of(int ranks, int64_t steps) {
  RunOptions options;
  options.config_json = "{\"model\": {}}";
  options.plan_hash = FakeRank::plan_hash;
  options.ranks = ranks;
  options.steps = steps;
  options.plan_steps = plan_steps;
  options.metrics = metrics;
  options.command = [ranks](const std::string& session) { return mpirun_command(own_program(), session, ranks); };
  return options;
}

// The rank itself takes mpirun's place.
RunOptions direct_options(int64_t steps) {
  RunOptions options = options_of(1, steps);
  options.command = [](const std::string& session) {
    return std::vector<std::string>{own_program(), "rank", "--session", session};
  };
  return options;
}

// Processes that have `text` in their command line.
std::vector<int> processes_with(const std::string& text) {
  std::vector<int> found;
  for (const ProcessId& process : descendants(1)) {
    const std::string line = read_kernel_file("/proc/" + std::to_string(process.pid) + "/cmdline");
    if (line.find(text) != std::string::npos && is_alive(process)) found.push_back(process.pid);
  }
  return found;
}

class Client : public SocketClient {
 public:
  using SocketClient::SocketClient;

  // All that the other side has sent until it closed the connection.
  std::vector<Message> receive_all() {
    MessageDecoder decoder;
    std::vector<Message> messages;
    char bytes[1000];
    for (ssize_t got; (got = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;) {
      decoder.feed({bytes, static_cast<size_t>(got)});
      while (auto message = decoder.next()) messages.push_back(*message);
    }
    return messages;
  }
};

struct Recorded {
  RunOutcome outcome;
  std::vector<Message> messages;
  std::string session_directory;

  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Message& message : messages) {
      if (auto* one = std::get_if<Kind>(&message)) found.push_back(*one);
    }
    return found;
  }
};

using Reaction = std::function<void(RunProcess&, const Message&)>;

// Runs to the end and checks what must hold after every run: nothing is left of it.
Recorded run_and_record(RunOptions options, const Reaction& react = {}) {
  Recorded recorded;
  {
    RunProcess run(std::move(options));
    recorded.session_directory = run.session_directory();
    recorded.outcome = run.run([&](const Message& message) {
      recorded.messages.push_back(message);
      if (react) react(run, message);
    });
  }
  if (fs::exists(recorded.session_directory)) throw Failure(Error{"leak", "the session directory is left", "", ""});
  if (!processes_with(recorded.session_directory).empty()) throw Failure(Error{"leak", "a process is left", "", ""});
  return recorded;
}

template <class Kind>
bool is(const Message& message) {
  return std::holds_alternative<Kind>(message);
}

}  // namespace

class RunProcessTest : public QObject {
  Q_OBJECT

 private slots:
  void a_good_run_tells_every_step_in_order_and_leaves_nothing();
  void a_failing_rank_is_named_with_signal_and_last_op_data();
  void a_failing_rank_is_named_with_signal_and_last_op();
  void a_rank_that_never_exits_is_named();
  void a_clients_stop_ends_the_run_between_steps();
  void the_first_interrupt_ends_the_run_between_steps();
  void an_interrupted_run_may_take_as_long_as_what_it_saves_data();
  void an_interrupted_run_may_take_as_long_as_what_it_saves();
  void a_pause_is_no_part_of_the_time_to_stop_in();
  void interrupts_end_a_run_that_does_not_listen_data();
  void interrupts_end_a_run_that_does_not_listen();
  void a_late_client_gets_everything_once();
  void clients_that_vanish_sleep_or_talk_nonsense_do_not_disturb_the_run();
  void a_program_that_is_missing_is_a_failure();
  void a_socket_path_that_cannot_be_used_is_a_failure();
  void the_socket_of_a_dead_run_is_taken_over();
  void nothing_survives_a_killed_launcher();
};

void RunProcessTest::a_good_run_tells_every_step_in_order_and_leaves_nothing() {
  set_fake("", 20);
  Recorded run = run_and_record(options_of(3, 20));
  QVERIFY(run.outcome.end == RunEnd::finished);
  QCOMPARE(run.outcome.steps, int64_t{20});
  QVERIFY(!run.outcome.failure);
  auto steps = run.all<StepMessage>();
  QCOMPARE(steps.size(), size_t{20});
  for (int64_t i = 0; i < 20; ++i) {
    const StepMessage& step = steps[i];
    QCOMPARE(step.step, i);
    const std::vector<MetricValue> expected = {{"loss", 8.0 - static_cast<double>(i)}, {"accuracy", 0.5}};
    QVERIFY(step.metrics == expected);
    QCOMPARE(step.step_ms, 12.0);
    QCOMPARE(step.ranks.size(), size_t{3});
    for (int rank = 0; rank < 3; ++rank) QVERIFY(step.ranks[rank] == FakeRank::measured(rank));
  }
  std::array<RankState, 3> last{};
  for (const RankStateMessage& rank : run.all<RankStateMessage>()) last[rank.rank] = rank.state;
  for (RankState state : last) QVERIFY(state == RankState::finished);
  for (int rank = 0; rank < 3; ++rank) {
    LogMessage expected{rank, "rank " + std::to_string(rank) + " of 3"};
    auto log = run.all<LogMessage>();
    QVERIFY(std::find(log.begin(), log.end(), expected) != log.end());
  }
  QVERIFY(is<FinishedMessage>(run.messages.back()));
}

void RunProcessTest::a_failing_rank_is_named_with_signal_and_last_op_data() {
  QTest::addColumn<QString>("mode");
  QTest::addColumn<QString>("signal");
  QTest::addColumn<QString>("text");
  QTest::newRow("killed") << "kill"
                          << "SIGKILL"
                          << "killed by SIGKILL in training step 2, at 'embed_gradient'";
  QTest::newRow("crashed") << "abort"
                           << "SIGABRT"
                           << "killed by SIGABRT in training step 2, at 'embed_gradient'";
  QTest::newRow("stopped") << "stop"
                           << ""
                           << "stopped by a signal in training step 2, at 'embed_gradient'";
  QTest::newRow("exited") << "exit"
                          << ""
                          << "exited with code 3 in training step 2, at 'embed_gradient'";
  QTest::newRow("failed") << "fail"
                          << ""
                          << "failed: the loss is not a number";
  QTest::newRow("foreign plan") << "foreign"
                                << ""
                                << "holds another plan";
}

void RunProcessTest::a_failing_rank_is_named_with_signal_and_last_op() {
  QFETCH(QString, mode);
  QFETCH(QString, signal);
  QFETCH(QString, text);
  set_fake(mode.toUtf8(), 1'000'000);
  Recorded run = run_and_record(options_of(3, 1'000'000));
  QVERIFY(run.outcome.end == RunEnd::failed);
  auto failures = run.all<FailureMessage>();
  QCOMPARE(failures.size(), size_t{1});
  QCOMPARE(failures[0].rank, 2);
  QCOMPARE(QString::fromStdString(failures[0].signal), signal);
  QVERIFY2(QString::fromStdString(failures[0].message).contains(text), failures[0].message.c_str());
  if (mode != "foreign") QCOMPARE(failures[0].last_op, std::string("embed_gradient"));
  QVERIFY(run.outcome.failure == failures[0]);
  QVERIFY(std::get<FinishedMessage>(run.messages.back()).end == RunEnd::failed);
}

void RunProcessTest::a_rank_that_never_exits_is_named() {
  set_fake("hang", 3);
  RunOptions options = options_of(2, 3);
  options.limits.shutdown_ns = 500'000'000;
  Recorded run = run_and_record(options);
  QVERIFY(run.outcome.end == RunEnd::failed);
  QCOMPARE(run.outcome.steps, int64_t{3});
  QCOMPARE(run.outcome.failure->rank, 1);
  QVERIFY(run.outcome.failure->message.find("did not exit") != std::string::npos);
}

void RunProcessTest::a_clients_stop_ends_the_run_between_steps() {
  set_fake("", 1'000'000);
  std::unique_ptr<Client> client;
  Recorded run = run_and_record(direct_options(1'000'000), [&](RunProcess& process, const Message& message) {
    if (client || !is<StepMessage>(message)) return;
    client = std::make_unique<Client>(process.socket_path());
    client->send(to_json_line(Request::stop));
  });
  QVERIFY(run.outcome.end == RunEnd::stopped);
  QVERIFY(run.outcome.steps > 0 && run.outcome.steps < 1'000'000);
  QCOMPARE(std::ssize(run.all<StepMessage>()), run.outcome.steps);
}

void RunProcessTest::the_first_interrupt_ends_the_run_between_steps() {
  set_fake("", 1'000'000);
  bool asked = false;
  RunOptions options = options_of(2, 1'000'000);
  options.limits.stopping_ns = 60'000'000'000;
  Recorded run = run_and_record(options, [&](RunProcess& process, const Message& message) {
    if (is<StepMessage>(message) && !std::exchange(asked, true)) process.interrupt();
  });
  QVERIFY(run.outcome.end == RunEnd::interrupted);
  QVERIFY(!run.outcome.failure);
  std::array<RankState, 2> last{};
  for (const RankStateMessage& rank : run.all<RankStateMessage>()) last[rank.rank] = rank.state;
  for (RankState state : last) QVERIFY(state == RankState::finished);
}

void RunProcessTest::an_interrupted_run_may_take_as_long_as_what_it_saves_data() {
  QTest::addColumn<QString>("mode");
  QTest::newRow("with signs of life") << "saving";
  QTest::newRow("within one call to write") << "writing";
}

void RunProcessTest::an_interrupted_run_may_take_as_long_as_what_it_saves() {
  QFETCH(QString, mode);
  set_fake(mode.toUtf8(), 1'000'000);
  RunOptions options = direct_options(1'000'000);
  options.limits.stopping_ns = 2'000'000'000;
  bool asked = false;
  const Recorded run = run_and_record(std::move(options), [&](RunProcess& process, const Message& message) {
    if (is<StepMessage>(message) && !std::exchange(asked, true)) process.interrupt();
  });
  QVERIFY(run.outcome.end == RunEnd::interrupted);
  QVERIFY(std::ranges::any_of(run.all<LogMessage>(), [](const LogMessage& line) { return line.text == "saved"; }));
}

void RunProcessTest::a_pause_is_no_part_of_the_time_to_stop_in() {
  set_fake("slow", 1'000'000);
  RunOptions options = direct_options(1'000'000);
  options.limits.stopping_ns = 2'000'000'000;
  const pid_t waker = ::fork();
  if (waker == 0) {
    while (look_at_process(::getppid()).info.state != 'T') ::usleep(10000);
    ::sleep(3);
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
  }
  bool asked = false;
  const Recorded run = run_and_record(std::move(options), [&](RunProcess& process, const Message& message) {
    if (!is<StepMessage>(message) || std::exchange(asked, true)) return;
    process.interrupt();
    process.pause();
  });
  ::waitpid(waker, nullptr, 0);
  QVERIFY(run.outcome.end == RunEnd::interrupted);
  const std::vector<LogMessage> log = run.all<LogMessage>();
  QVERIFY(std::ranges::any_of(log, [](const LogMessage& line) { return line.text == "finished slowly"; }));
}

void RunProcessTest::interrupts_end_a_run_that_does_not_listen_data() {
  QTest::addColumn<int>("interrupts");
  QTest::addColumn<qint64>("grace_ns");
  QTest::newRow("two") << 2 << qint64{600'000'000'000};
  QTest::newRow("one and time") << 1 << qint64{100'000'000};
}

void RunProcessTest::interrupts_end_a_run_that_does_not_listen() {
  QFETCH(int, interrupts);
  QFETCH(qint64, grace_ns);
  set_fake("deaf", 1'000'000'000);
  RunOptions options = options_of(2, 1'000'000'000);
  options.limits.stopping_ns = grace_ns;
  bool asked = false;
  Recorded run = run_and_record(options, [&](RunProcess& process, const Message& message) {
    if (!is<RankStateMessage>(message) || std::exchange(asked, true)) return;
    for (int i = 0; i < interrupts; ++i) process.interrupt();
  });
  QVERIFY(run.outcome.end == RunEnd::interrupted);
  QVERIFY(!run.outcome.failure);
}

void RunProcessTest::a_late_client_gets_everything_once() {
  set_fake("", 300);
  std::future<std::vector<Message>> watching;
  Recorded run = run_and_record(direct_options(300), [&](RunProcess& process, const Message& message) {
    auto* step = std::get_if<StepMessage>(&message);
    if (!step || step->step != 20) return;
    auto client = std::make_shared<Client>(process.socket_path());
    watching = std::async(std::launch::async, [client] { return client->receive_all(); });
  });
  std::vector<Message> received = watching.get();
  QVERIFY(received.size() > 2);
  QVERIFY((std::get<HelloMessage>(received[0]) ==
           HelloMessage{"{\"model\": {}}", FakeRank::plan_hash, 1, plan_steps, metrics, machine_text(Machine())}));
  const auto& snapshot = std::get<SnapshotMessage>(received[1]);
  QVERIFY(snapshot.steps.size() >= 21);
  QVERIFY(snapshot.step_times.median().has_value());
  QCOMPARE(snapshot.ranks.size(), size_t{1});
  std::vector<int64_t> steps;
  // By a busy machine the client may be let in so late that some steps are no longer among the recent ones.
  for (const StepMessage& step : snapshot.past) steps.push_back(step.step);
  for (const StepMessage& step : snapshot.steps) steps.push_back(step.step);
  for (const Message& message : received) {
    if (auto* step = std::get_if<StepMessage>(&message)) steps.push_back(step->step);
  }
  QCOMPARE(steps.size(), size_t{300});
  for (int64_t i = 0; i < 300; ++i) QCOMPARE(steps[i], i);
  QVERIFY(std::get<FinishedMessage>(received.back()).end == RunEnd::finished);
}

void RunProcessTest::clients_that_vanish_sleep_or_talk_nonsense_do_not_disturb_the_run() {
  set_fake("", 200);
  std::atomic<bool> ended = false;
  std::atomic<int> connected = 0;
  std::thread crowd;
  auto disturb = [&](const std::string& path) {
    std::list<Client> sleeping;
    while (!ended && sleeping.size() < 100) {
      sleeping.emplace_back(path);
      connected += sleeping.back().connected();
      Client vanishing(path);
      Client nonsense(path);
      nonsense.send("stop\n{\"request\":\"dance\"}\n\xff\xfe");
    }
  };
  Recorded run = run_and_record(direct_options(200), [&](RunProcess& process, const Message& message) {
    if (!crowd.joinable()) crowd = std::thread(disturb, process.socket_path());
    if (is<FinishedMessage>(message)) ended = true;
  });
  crowd.join();
  QVERIFY(connected > 0);
  QVERIFY(run.outcome.end == RunEnd::finished);
  QCOMPARE(std::ssize(run.all<StepMessage>()), int64_t{200});
}

void RunProcessTest::a_program_that_is_missing_is_a_failure() {
  RunOptions options = direct_options(1);
  options.command = [](const std::string&) { return std::vector<std::string>{"shardscope-no-such-program"}; };
  const Recorded run = run_and_record(options);
  QVERIFY(run.outcome.end == RunEnd::failed);
  QVERIFY(run.outcome.failure->message.starts_with("cannot start 'shardscope-no-such-program'"));
  QCOMPARE(run.all<FailureMessage>().size(), size_t{1});
  QVERIFY((std::get<FinishedMessage>(run.messages.back()) == FinishedMessage{RunEnd::failed, 0}));
}

void RunProcessTest::a_socket_path_that_cannot_be_used_is_a_failure() {
  QTemporaryDir directory;
  std::string base = directory.path().toStdString();
  std::ofstream(base + "/file") << "precious";
  RunOptions other = direct_options(1);
  other.socket_path = base + "/live";
  RunProcess live(other);
  for (const std::string& path :
       {base + "/" + std::string(200, 'x'), base + "/file", base + "/live", base + "/no/dir"}) {
    RunOptions options = direct_options(1);
    options.socket_path = path;
    try {
      RunProcess run(options);
      QFAIL(path.c_str());
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors()[0].code, std::string("session_socket"));
    }
  }
  QVERIFY(fs::exists(base + "/live"));
  QCOMPARE(fs::file_size(base + "/file"), std::uintmax_t{8});
}

void RunProcessTest::the_socket_of_a_dead_run_is_taken_over() {
  QTemporaryDir directory;
  RunOptions options = direct_options(3);
  options.socket_path = directory.path().toStdString() + "/socket";
  int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  options.socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  QCOMPARE(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  set_fake("", 3);
  QVERIFY(run_and_record(options).outcome.end == RunEnd::finished);
  QVERIFY(!fs::exists(options.socket_path));
}

void RunProcessTest::nothing_survives_a_killed_launcher() {
  // Where no other test's program cleans up.
  const QTemporaryDir own;
  const QByteArray before = qgetenv("TMPDIR");
  qputenv("TMPDIR", own.path().toUtf8());
  const auto restored = qScopeGuard([&] { before.isEmpty() ? qunsetenv("TMPDIR") : qputenv("TMPDIR", before); });
  set_fake("deaf", 1'000'000'000);
  int pipe_ends[2];
  QCOMPARE(::pipe2(pipe_ends, O_CLOEXEC), 0);
  pid_t launcher = ::fork();
  if (launcher == 0) {
    RunProcess run(options_of(2, 1'000'000'000));
    run.run([&](const Message& message) {
      auto* step = std::get_if<StepMessage>(&message);
      if (!step || step->step != 0) return;
      std::string directory = run.session_directory();
      if (::write(pipe_ends[1], directory.data(), directory.size()) < 0) ::_exit(1);
    });
    ::_exit(0);
  }
  char bytes[500];
  ssize_t got = ::read(pipe_ends[0], bytes, sizeof bytes);
  QVERIFY(got > 0);
  std::string directory(bytes, static_cast<size_t>(got));
  QVERIFY(processes_with(directory).size() >= 3);
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  QVERIFY(eventually([&] { return processes_with(directory).empty(); }));
  QVERIFY(fs::exists(directory));
  SessionDirectory next;
  QVERIFY(!fs::exists(directory));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "rank") return FakeRank::main(argv[3]);
  RunProcessTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "run_process_test.moc"
