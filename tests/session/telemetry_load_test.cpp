#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/session/run_process.h"
#include "tests/session/fake_rank.h"
#include "tests/session/run_client.h"

// What the launcher does with the telemetry of many steps: ranks that compute nothing (FakeRank) report steps faster
// than any training would, to a client that reads all, one that reads slowly, one that never reads and one that comes
// late, each a process of its own. SHARDSCOPE_TELEMETRY_STEPS=100000 makes it long; only then times are judged. For
// steps that are trained see tests/cli/soak_test.cpp.

using namespace shardscope;

namespace {

constexpr int ranks = 4;
constexpr int64_t short_steps = 12000;
constexpr int64_t flat_bytes = 5 << 20;
constexpr double greeting_ms = 100;

int64_t step_count() {
  const char* text = std::getenv("SHARDSCOPE_TELEMETRY_STEPS");
  return text ? std::atoll(text) : short_steps;
}
bool is_long() { return step_count() > short_steps; }
int64_t gate() { return step_count() * 3 / 4; }

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

void make_key(const std::string& path) { std::ofstream(path) << "open"; }

// Reads all; comes again where it was too slow and was sent away.
int attend(const std::string& socket, const std::string& key) {
  KnownSteps known;
  bool reported = false;
  for (int connections = 0; connections < 1000; ++connections) {
    RunClient connection(socket);
    if (!connection.is_open()) return reported ? 0 : 1;
    while (auto message = connection.next()) {
      known.add(*message, connection, [](const StepMessage&) {});
      if (!reported && known.has_all(gate())) {
        reported = true;
        make_key(key);
      }
      if (std::holds_alternative<FinishedMessage>(*message)) return reported ? 0 : 2;
    }
    known.lose_connection();
  }
  return 3;
}

int read_slowly(const std::string& socket) {
  for (;;) {
    RunClient connection(socket);
    if (!connection.is_open()) return 0;
    while (connection.read_some(200) > 0) ::usleep(2000);
  }
}

int never_read(const std::string& socket) {
  RunClient connection(socket);
  ::pause();
  return 0;
}

// Comes when all ranks wait at the gate, and wants to know all from the beginning.
int come_late(const std::string& socket, const std::string& key) {
  const int64_t begin = monotonic_ns();
  RunClient connection(socket);
  KnownSteps known;
  for (int64_t greeted = 0; auto message = connection.next();) {
    known.add(*message, connection, [](const StepMessage&) {});
    if (std::holds_alternative<SnapshotMessage>(*message)) {
      greeted = monotonic_ns();
      const double ms = static_cast<double>(greeted - begin) * 1e-6;
      qInfo("late client: greeted after %.1f ms", ms);
      if (is_long() && ms > greeting_ms) return 4;
    }
    if (known.has_all(gate())) {
      qInfo("late client: has all %lld steps after %.1f ms", static_cast<long long>(gate()),
            static_cast<double>(monotonic_ns() - begin) * 1e-6);
      make_key(key);
      while (connection.next()) {
      }
      return 0;
    }
  }
  return 1;
}

// Starts all ranks and is what mpirun is.
int start_ranks(const std::string& session) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
      ::setenv("OMPI_COMM_WORLD_SIZE", std::to_string(ranks).c_str(), 1);
      ::_exit(FakeRank::main(session));
    }
    children.push_back(child);
  }
  int code = 0;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    code = std::max(code, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return code;
}

pid_t start(const std::function<int()>& client) {
  const pid_t child = ::fork();
  if (child == 0) {
    die_with_parent();
    int code = 9;
    try {
      code = client();
    } catch (const std::exception& error) {
      qWarning("%s", error.what());
    }
    ::_exit(code);
  }
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

class TelemetryLoadTest : public QObject {
  Q_OBJECT

 private slots:
  void nothing_is_lost_and_nothing_grows_whoever_watches() {
    QTemporaryDir directory;
    const std::string keys = directory.filePath("key").toStdString();
    ::setenv("FAKE_MODE", "", 1);
    ::setenv("FAKE_STEPS", std::to_string(step_count()).c_str(), 1);
    ::setenv("FAKE_US", "100", 1);
    ::setenv("FAKE_GATE", std::to_string(gate()).c_str(), 1);
    ::setenv("FAKE_KEYS", keys.c_str(), 1);
    RunOptions options;
    options.config_json = "{}";
    options.plan_hash = FakeRank::plan_hash;
    options.ranks = ranks;
    options.steps = step_count();
    options.plan_steps = {{"a", Phase::forward}, {"b", Phase::backward}, {"c", Phase::update}};
    options.metrics = {"loss", "accuracy"};
    options.command = [](const std::string& session) {
      return std::vector<std::string>{own_program(), "ranks", "--session", session};
    };

    auto run = std::make_unique<RunProcess>(options);
    std::vector<pid_t> ending, endless;
    int64_t next = 0, settled_bytes = 0, most_bytes = 0;
    int settled_descriptors = 0, most_descriptors = 0;
    const int64_t begin = monotonic_ns();
    const RunOutcome outcome = run->run([&](const Message& message) {
      const auto* step = std::get_if<StepMessage>(&message);
      if (!step) return;
      if (step->step != next++) qWarning("step %lld came in place of %lld", (long long)step->step, (long long)next - 1);
      const std::string socket = run->socket_path();
      if (step->step == 0) {
        ending.push_back(start([&] { return attend(socket, keys + ".0"); }));
        endless.push_back(start([&] { return read_slowly(socket); }));
        endless.push_back(start([&] { return never_read(socket); }));
      }
      if (next == gate()) ending.push_back(start([&] { return come_late(socket, keys + ".1"); }));
      if (next == step_count() / 2) {
        settled_bytes = resident_bytes();
        settled_descriptors = open_descriptors();
      }
      if (next > step_count() / 2 && next % (step_count() / 20) == 0) {
        most_bytes = std::max(most_bytes, resident_bytes());
        most_descriptors = std::max(most_descriptors, open_descriptors());
      }
    });
    const double seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    run.reset();
    for (pid_t child : endless) ::kill(child, SIGKILL);
    for (pid_t child : endless) exit_code(child);
    for (pid_t child : ending) QCOMPARE(exit_code(child), 0);
    QVERIFY(outcome.end == RunEnd::finished);
    QCOMPARE(next, step_count());
    QCOMPARE(outcome.steps, step_count());
    qInfo("%lld steps of %d ranks in %.1f s; resident %.1f MiB after half, at most %.1f MiB later",
          static_cast<long long>(step_count()), ranks, seconds, static_cast<double>(settled_bytes) / 1048576,
          static_cast<double>(most_bytes) / 1048576);
    QVERIFY(most_bytes - settled_bytes < flat_bytes);
    QVERIFY(most_descriptors <= settled_descriptors + 4);  // as many as there are clients, whenever they come
  }
};

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "ranks") return start_ranks(argv[3]);
  TelemetryLoadTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "telemetry_load_test.moc"
