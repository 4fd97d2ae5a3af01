#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/comm/mapping.h"
#include "engine/compile/document_of.h"
#include "engine/machine/host_machine.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"
#include "tests/base/child_status.h"
#include "tests/comm/forked_ranks.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace start_up_memory_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int64_t mib = int64_t{1} << 20;
// A whole parameter has 32 MiB. Sanitizers write beside what is written.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t most_beyond = 24 * mib;
#else
constexpr int64_t most_beyond = 12 * mib;
#endif
constexpr int ranks = 8;

// Two kernels of 32 MiB and one of 4, each split over eight ranks.
Plan large_plan() {
  return compile(
      {system_run("tensor_parallel_mlp", {"model.d_model=1024", "model.d_ff=8192", "data.batch_size=8"}, {ranks}),
       reference_host()});
}

// Of /proc/self/status, in bytes.
int64_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) << 10;
  }
  return -1;
}

// The most that a rank held beyond its arena while it started, each rank a process.
void check_start_up(const Plan& plan, const CheckpointOptions& checkpoints) {
  const int64_t bytes = rank_memory_bytes(plan);
  const auto outcomes = checks::run_forked_ranks(ranks, [&](Communicator& world) {
    Mapping arena = Mapping::anonymous(bytes);
    std::fill_n(arena.data(), bytes, std::byte{1});
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak counts from here
    const int64_t before = memory("VmRSS");
    TrainHooks hooks;
    hooks.checkpoints = checkpoints;
    train(plan, 0, world, {arena.data(), static_cast<size_t>(bytes)}, hooks);
    const int64_t beyond = memory("VmHWM") - before;
    if (beyond >= most_beyond) {
      throw Failure(Error{"memory", "a rank took " + std::to_string(beyond / mib) + " MiB beyond its arena", {}, ""});
    }
  });
  for (const checks::ForkedOutcome& outcome : outcomes) {
    QCOMPARE(outcome.signal, 0);
    QVERIFY2(outcome.code.empty(), outcome.text.c_str());
  }
}

}  // namespace

class StartUpMemoryTest : public QObject {
  Q_OBJECT

 private slots:
  void initialisation_writes_a_ranks_own_shards_and_nothing_else() {
    const Plan plan = large_plan();
    int64_t stored = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      stored += 3 * element_count(local_shape(parameter.sharding, plan.mesh, parameter.shape)) * 4;
    }
    for (const Task& task : plan.program.tasks) {
      if (task.phase != Phase::initialise) continue;
      for (const Instruction& instruction : task.instructions) {
        QCOMPARE(instruction.kind(), InstructionKind::compute);
        for (int value : instruction.results()) {
          const ProgramValue& made = plan.program.values[value];
          QCOMPARE(made.bytes() * ranks, element_count(made.shape) * byte_size(made.dtype));
        }
      }
    }
    const auto outcomes = checks::run_forked_ranks(ranks, [&](Communicator& world) {
      const int64_t bytes = rank_memory_bytes(plan);
      Mapping memory = Mapping::anonymous(bytes);
      const Arena arena({memory.data(), static_cast<size_t>(bytes)});
      Executor executor(plan, world.rank(), arena.base(), world);
      executor.run(Purpose::initialise, {});
      const int64_t written = arena.measured_bytes({memory.data(), static_cast<size_t>(bytes)});
      if (written != stored) throw Failure(Error{"written", std::to_string(written), {}, ""});
    });
    for (const checks::ForkedOutcome& outcome : outcomes) QVERIFY2(outcome.code.empty(), outcome.text.c_str());
  }

  void no_rank_holds_a_whole_sharded_parameter_while_it_starts() { check_start_up(large_plan(), {}); }

  void nor_while_it_goes_on_from_a_checkpoint_of_another_mesh() {
    QTemporaryDir folder;
    const Plan plan = large_plan();
    CheckpointOptions options;
    options.resume = folder.path().toStdString();
    const int status = status_of([&] {  // what it holds is not counted
      RunConfig config = document_of(plan);
      config.mesh_axes[0].size = 2;
      CheckpointOptions saving;
      saving.folder = options.resume;
      saving.save_every = 1;
      train_in_threads(compile({config, reference_host()}), 1, {}, {}, {}, saving);
    });
    QCOMPARE(status, 0);
    check_start_up(plan, options);
  }
};

REGISTER_TEST(StartUpMemoryTest)

}  // namespace start_up_memory_test

#include "start_up_memory_test.moc"
