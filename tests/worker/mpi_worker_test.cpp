#include "engine/worker/mpi_worker.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "engine/session/mpirun.h"
#include "tests/training/thread_training.h"

#include <QCoreApplication>
#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <nlohmann/json.hpp>

// Started by a person or by ctest, this starts itself as the ranks of a run; started by mpirun, it is a rank.

using namespace shardscope;

namespace {

// The decoder of the Parallax document, small.
std::string small_run_file() {
  auto json = nlohmann::ordered_json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/presets/parallax_decoder.json"));
  json["mesh"]["axes"][0]["size"] = 2;
  json["mesh"]["axes"][1]["size"] = 2;
  for (const auto& [key, size] : {std::pair("vocab_size", 64), {"seq_len", 16}, {"embed_dim", 32}, {"num_heads", 4}}) {
    json["model"][key] = size;
  }
  json["data"]["batch_size"] = 8;
  return json.dump();
}

int run_rank_of(const std::string& directory, int argc, char** argv) {
  const int rank = std::atoi(std::getenv("OMPI_COMM_WORLD_RANK"));
  std::string scenario;
  std::getline(std::ifstream(directory + "/scenario"), scenario);
  RankOptions options;
  options.session_directory = directory;
  options.steps = scenario == "endless" ? 1'000'000 : 4;
  options.plan = [&](const Machine& machine) {
    if (scenario == "unreadable" && rank == 1) throw Failure({"missing_file", "the file is gone", directory, ""});
    RunConfig config = load_run_config(directory + "/config.json");
    if (scenario == "other_plan" && rank == 2) config.seed = 1;
    return compile({config, machine});
  };
  options.on_step = [&](const StepMessage& step) {
    if (scenario == "failing" && step.step == 1) throw std::runtime_error("the disk is full");
    if (scenario == "endless" && step.step == 2) std::ofstream(directory + "/running") << "yes";
  };
  return run_rank(argc, argv, options);
}

struct Run {
  QTemporaryDir folder;
  QProcess process;
  std::string directory = folder.path().toStdString();

  Run(const std::string& scenario, int ranks = 4) {
    QDir(folder.path()).mkdir("tmp");
    std::ofstream(directory + "/config.json") << small_run_file();
    std::ofstream(directory + "/scenario") << scenario;
    control.emplace(Control::create(directory));
    const std::vector<std::string> command =
        mpirun_command(QCoreApplication::applicationFilePath().toStdString(), directory, ranks);
    QStringList arguments;
    for (size_t i = 1; i < command.size(); ++i) arguments << QString::fromStdString(command[i]);
    process.start(QString::fromStdString(command[0]), arguments);
  }

  int exit_code() {
    if (!process.waitForFinished(60'000)) {
      process.kill();
      process.waitForFinished();
      return -1;
    }
    errors = process.readAllStandardError().toStdString() + process.readAllStandardOutput().toStdString();
    return process.exitCode();
  }

  TelemetryReader telemetry(int rank) const { return TelemetryReader::open(directory, rank).value(); }

  int count(const std::string& text) const {
    int found = 0;
    for (size_t at = 0; (at = errors.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  }

  std::optional<Control> control;
  std::string errors;
};

}  // namespace

class MpiWorkerTest : public QObject {
  Q_OBJECT

 private slots:
  void processes_train_as_threads_do_bit_for_bit() {
    Run run("train");
    QCOMPARE(run.exit_code(), 0);
    const Plan plan = compile({parse_run_config(small_run_file(), ""), reference_host()});
    const ThreadTraining threads = train_in_threads(plan, 4);
    for (int rank = 0; rank < 4; ++rank) {
      TelemetryReader reader = run.telemetry(rank);
      const RankStatus status = reader.status();
      QCOMPARE(status.state, RankState::finished);
      QCOMPARE(status.plan_hash, plan.hash);
      const std::vector<StepRecord> steps = reader.take_steps();
      QCOMPARE(steps.size(), size_t{4});
      for (size_t step = 0; step < 4; ++step) {
        QVERIFY(with_names(metric_names(plan.metrics), steps[step].metrics) == threads.steps[step].metrics);
        const RankMeasurement& measured = steps[step].measured;
        QCOMPARE(measured.rank, int64_t{rank});
        QCOMPARE(measured.arena_bytes, plan.arenas[0].bytes);
        QCOMPARE(measured.parameter_bytes, threads.ranks[rank].parameter_bytes);
        QCOMPARE(measured.optimizer_bytes, threads.ranks[rank].optimizer_bytes);
        QVERIFY(std::abs(measured.wire_bytes - plan.totals.wire_bytes_per_device) < 1);
        QCOMPARE(measured.moved_bytes, threads.ranks[rank].moved_bytes);
        QVERIFY(static_cast<double>(measured.moved_bytes) > measured.wire_bytes);
        QVERIFY(measured.outside_bytes > (1 << 20) && measured.outside_bytes < (int64_t{1} << 30));
        double milliseconds = 0;
        for (size_t phase = 0; phase < 3; ++phase) {
          QVERIFY(measured.cpu_ms[phase] > 0 && measured.cpu_ms[phase] <= measured.busy_ms[phase]);
          milliseconds += measured.busy_ms[phase] + measured.wait_ms[phase];
        }
        QVERIFY(milliseconds <= steps[step].step_ms);
      }
      for (TraceChoice choice : {TraceChoice::latest, TraceChoice::slowest}) {
        const std::optional<RankTrace> trace = reader.take_trace(choice);
        QVERIFY(trace);
        if (choice == TraceChoice::latest) QCOMPARE(trace->step, int64_t{3});
        QCOMPARE(trace->times.size(), size_t(plan.instructions().size()));
        int64_t last = 0;
        for (const PlanStepTime& time : trace->times) {
          QVERIFY(last <= time.arrive_ns && time.arrive_ns <= time.start_ns && time.start_ns <= time.end_ns);
          last = time.end_ns;
        }
      }
    }
  }

  void a_requested_stop_ends_all_ranks_after_the_same_step() {
    Run run("endless");
    QVERIFY(QTest::qWaitFor([&] { return std::filesystem::exists(run.directory + "/running"); }, 60'000));
    run.control->request_stop();
    QCOMPARE(run.exit_code(), 0);
    const int64_t last = run.telemetry(0).status().training_step;
    for (int rank = 0; rank < 4; ++rank) {
      const RankStatus status = run.telemetry(rank).status();
      QCOMPARE(status.state, RankState::finished);
      QCOMPARE(status.training_step, last);
    }
  }

  void what_all_ranks_refuse_is_said_once_with_exit_code_2() {
    Run other("other_plan");
    QCOMPARE(other.exit_code(), 2);
    QCOMPARE(other.count("the ranks hold different plans"), 1);
    Run few("train", 3);
    QCOMPARE(few.exit_code(), 2);
    QCOMPARE(few.count("mesh data 2 x model 2 needs 4 ranks, started with 3"), 1);
    for (int rank = 0; rank < 3; ++rank) QCOMPARE(few.telemetry(rank).status().state, RankState::failed);
  }

  void a_rank_that_cannot_plan_says_so_itself_and_none_waits_for_it() {
    Run run("unreadable");
    QCOMPARE(run.exit_code(), 2);
    QCOMPARE(run.count("rank 1: "), 1);
    QCOMPARE(run.count("the file is gone"), 1);
  }

  void a_rank_that_fails_ends_the_run_and_fails_first() {
    Run run("failing");
    QCOMPARE(run.exit_code(), 1);
    QVERIFY(run.count("rank 0: the disk is full") >= 1);
    const RankStatus culprit = run.telemetry(0).status();
    QCOMPARE(culprit.state, RankState::failed);
    QCOMPARE(culprit.error_text, std::string("the disk is full"));
    for (int rank = 1; rank < 4; ++rank) {
      const RankStatus status = run.telemetry(rank).status();
      if (status.state == RankState::failed) QVERIFY(status.failed_ns >= culprit.failed_ns);
    }
  }
};

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "rank") return run_rank_of(argv[3], argc, argv);
  QCoreApplication application(argc, argv);
  MpiWorkerTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "mpi_worker_test.moc"
