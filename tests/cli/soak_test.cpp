#include <signal.h>
#include <unistd.h>

#include <QDeadlineTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "engine/session/processes.h"
#include "engine/session/telemetry.h"
#include "tests/cli/program.h"
#include "tests/session/run_client.h"

namespace soak_test {

// Trains a small network over many steps on real ranks, with four clients beside it: one that reads all, one that reads
// slowly, one that never reads, and one that comes when all steps are done and asks for them. Nothing is lost, and
// neither the launcher nor a rank grows. SHARDSCOPE_SOAK=100000 (./run test soak) makes it long.

using namespace shardscope;

namespace {

constexpr int64_t short_steps = 2000;
constexpr int64_t flat_bytes = 5 << 20;
constexpr auto patience = std::chrono::minutes(20);

int64_t step_count() {
  const char* text = std::getenv("SHARDSCOPE_SOAK");
  return text ? std::atoll(text) : short_steps;
}

struct Usage {
  int64_t resident_bytes = 0;
  int64_t descriptors = 0;
};

Usage usage_of(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream file(folder + "/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  std::error_code gone;
  const auto descriptors = std::distance(std::filesystem::directory_iterator(folder + "/fd", gone), {});
  return {resident * ::sysconf(_SC_PAGESIZE), descriptors};
}

// By process: when half of the steps were done, and the most later.
class Growth {
 public:
  void settle(int pid) { settled_[pid] = most_[pid] = usage_of(pid); }
  void measure() {
    for (auto& [pid, most] : most_) {
      const Usage now = usage_of(pid);
      most.resident_bytes = std::max(most.resident_bytes, now.resident_bytes);
      most.descriptors = std::max(most.descriptors, now.descriptors);
    }
  }
  size_t processes() const { return settled_.size(); }
  int64_t bytes() const {
    int64_t worst = 0;
    for (const auto& [pid, most] : most_) {
      worst = std::max(worst, most.resident_bytes - settled_.at(pid).resident_bytes);
    }
    return worst;
  }
  int64_t descriptors() const {
    int64_t worst = 0;
    for (const auto& [pid, most] : most_) worst = std::max(worst, most.descriptors - settled_.at(pid).descriptors);
    return worst;
  }

 private:
  std::map<int, Usage> settled_, most_;
};

// The losses of the first steps of a run, as a client gets them.
class Losses {
 public:
  explicit Losses(int64_t steps) : losses_(static_cast<size_t>(steps), std::nan("")) {}
  void take(const StepMessage& step) {
    if (step.step < std::ssize(losses_)) losses_[static_cast<size_t>(step.step)] = value_of(step.metrics, "loss");
  }
  const std::vector<double>& all() const { return losses_; }

 private:
  std::vector<double> losses_;
};

class Training {
 public:
  Training(int ranks, int64_t steps) : steps_(steps), attended_(steps), late_(steps) {
    const QString data = QString("mesh.data=%1").arg(ranks);
    const QStringList arguments = {
        "train",    preset("mintext_mlp"), "--steps",    "1000000000",     "--set",      data,
        "--set",    "mesh.model=1",        "--deadline", "stopped=100000", "--deadline", "training=100000",
        "--socket", path("socket"),        "--jsonl",    path("steps")};
    process_.setStandardOutputFile(QProcess::nullDevice());
    process_.setStandardErrorFile(path("errors"));
    process_.setChildProcessModifier([] { die_with_parent(); });
    process_.start(QCoreApplication::applicationFilePath(), arguments);
    process_.waitForStarted();
    launcher_ = static_cast<int>(process_.processId());
  }

  // Returns what is wrong; empty where nothing is.
  QString run() {
    if (!wait_for_socket()) return "no socket: " + errors();
    const RunClient silent(socket());
    std::jthread slow([this] { read_slowly(); });
    std::jthread attending([this] { attend(); });
    if (!wait(attended_all_)) return "the client that reads all has not got all steps: " + errors();
    std::jthread late([this] { come_late(); });
    if (!wait(late_has_all_)) return "the late client has not got all steps: " + errors();
    RunClient stopping(socket());
    stopping.send(Request::stop);
    release();
    if (!process_.waitForFinished(static_cast<int>(std::chrono::milliseconds(patience).count()))) {
      process_.kill();
      return "does not end";
    }
    if (process_.exitStatus() != QProcess::NormalExit || process_.exitCode() != 0) return "failed: " + errors();
    return "";
  }

  // Losses by step, as the run has written them; empty where a step is missing or out of its order.
  std::vector<double> written() const {
    std::vector<double> losses;
    QFile file(path("steps"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    for (QByteArray line = file.readLine(); !line.isEmpty(); line = file.readLine()) {
      const QJsonObject step = QJsonDocument::fromJson(line).object();
      if (step["step"].toInteger(-1) != std::ssize(losses)) return {};
      losses.push_back(step["loss"].toDouble());
    }
    return losses;
  }
  const std::vector<double>& attended() const { return attended_.all(); }
  const std::vector<double>& late() const { return late_.all(); }
  const Growth& growth() const { return growth_; }
  double seconds() const { return seconds_; }

 private:
  QString path(const QString& name) const { return folder_.filePath(name); }
  std::string socket() const { return path("socket").toStdString(); }
  QString errors() const {
    QFile file(path("errors"));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll().right(2000)) : QString();
  }

  bool wait_for_socket() {
    const QDeadlineTimer deadline(patience);
    while (!SocketClient(socket()).connected()) {
      if (process_.waitForFinished(20) || deadline.hasExpired()) return false;
    }
    return true;
  }

  // Until the flag is set; false where the run ends before.
  bool wait(const std::atomic<bool>& flag) {
    const QDeadlineTimer deadline(patience);
    while (!flag) {
      if (process_.waitForFinished(20) || deadline.hasExpired()) break;
    }
    if (!flag) process_.kill();
    return flag;
  }

  // Until the run closes the connection for good: a client that is too slow is dropped, and comes again.
  void read_all(const std::function<void(const Message&, KnownSteps&)>& handle, Losses& losses) {
    KnownSteps known;
    for (std::optional<RunClient> client(socket()); client->is_open(); client.emplace(socket())) {
      while (const auto message = client->next()) {
        known.add(*message, *client, [&](const StepMessage& step) { losses.take(step); });
        handle(*message, known);
      }
      known.lose_connection();
    }
  }

  // Holds the ranks once all steps are done, until release(): so all clients can be waited for.
  void attend() {
    std::map<int, int> ranks;
    int64_t measured = 0, begun_ns = 0, messages = 0;
    const auto handle = [&](const Message& message, const KnownSteps& known) {
      if (auto* snapshot = std::get_if<SnapshotMessage>(&message)) {
        for (const RankStateMessage& rank : snapshot->ranks) ranks[rank.rank] = rank.pid;
      }
      if (auto* rank = std::get_if<RankStateMessage>(&message)) ranks[rank->rank] = rank->pid;
      auto* step = std::get_if<StepMessage>(&message);
      if (step && ranks_.empty()) {
        if (begun_ns == 0) begun_ns = monotonic_ns();
        if (growth_.processes() == 0 && step->step >= steps_ / 2) {
          growth_.settle(launcher_);
          for (const auto& [rank, pid] : ranks) growth_.settle(pid);
        } else if (growth_.processes() > 0 && step->step >= measured + steps_ / 20) {
          measured = step->step;
          growth_.measure();
        }
        if (step->step + 1 >= steps_) {
          seconds_ = static_cast<double>(monotonic_ns() - begun_ns) * 1e-9;
          growth_.measure();
          for (const auto& [rank, pid] : ranks) ranks_.push_back(pid);
          for (int pid : ranks_) ::kill(pid, SIGSTOP);
        }
      }
      if (!ranks_.empty() && known.has_all(steps_)) attended_all_ = true;
      if (++messages % 100 == 0) set_hundreds(messages / 100);
    };
    read_all(handle, attended_);
    set_hundreds(-1);
  }

  void set_hundreds(int64_t count) {
    hundreds_ = count;
    hundreds_.notify_all();
  }

  void release() const {
    for (int pid : ranks_) ::kill(pid, SIGCONT);
  }

  void come_late() {
    const auto handle = [&](const Message&, const KnownSteps& known) {
      if (known.has_all(steps_)) late_has_all_ = true;
    };
    read_all(handle, late_);
  }

  // Two messages or so while the client that reads all has read a hundred.
  void read_slowly() {
    for (;;) {
      RunClient client(socket());
      if (!client.is_open()) return;
      while (client.read_some(200) > 0)
        if (const int64_t count = hundreds_; count >= 0) hundreds_.wait(count);
    }
  }

  const int64_t steps_;
  int launcher_ = 0;
  std::vector<int> ranks_;  // that are held
  QTemporaryDir folder_;
  QProcess process_;
  Losses attended_, late_;
  Growth growth_;
  double seconds_ = 0;
  std::atomic<bool> attended_all_ = false, late_has_all_ = false;
  std::atomic<int64_t> hundreds_ = 0;  // of messages that the client that reads all has read; -1: it is at the end
};

}  // namespace

class SoakTest : public QObject {
  Q_OBJECT

 private slots:
  void nothing_is_lost_and_nothing_grows_data() {
    QTest::addColumn<int>("ranks");
    QTest::newRow("two ranks") << 2;
    QTest::newRow("one rank") << 1;
  }

  void nothing_is_lost_and_nothing_grows() {
    QFETCH(int, ranks);
    const int64_t steps = step_count();
    Training training(ranks, steps);
    const QString problem = training.run();
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    std::vector<double> written = training.written();
    QVERIFY(std::ssize(written) >= steps);
    qInfo("%d ranks: %lld steps in %.1f s, %.0f a second, to %zu steps; loss %g, then %g; grown by %.1f MiB at most",
          ranks, static_cast<long long>(steps), training.seconds(), static_cast<double>(steps) / training.seconds(),
          written.size(), written.front(), written[static_cast<size_t>(steps) - 1],
          static_cast<double>(training.growth().bytes()) / 1048576);
    written.resize(static_cast<size_t>(steps));
    QVERIFY(training.attended() == written);
    QVERIFY(training.late() == written);
    QVERIFY(written.back() < written.front() / 2);
    QCOMPARE(training.growth().processes(), static_cast<size_t>(ranks + 1));
    QVERIFY(training.growth().bytes() < flat_bytes);
    QVERIFY(training.growth().descriptors() <= 2);  // clients that come again
  }
};

REGISTER_PROGRAM_TEST(SoakTest)

}  // namespace soak_test

#include "soak_test.moc"
