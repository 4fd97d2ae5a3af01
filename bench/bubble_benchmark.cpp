// bubble_benchmark: the bubble of each schedule, measured beside the predicted one. 4 stages x 8 microbatches as
// threads, whose tasks sleep: forward 40 ms, backward 80 ms (of inputs and of weights 40 ms each), so that cores and
// the update hardly matter; then 2 stages of 4 microbatches that compute matrix products, on as many cores, by turns.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/median.h"
#include "engine/comm/mapping.h"
#include "engine/comm/thread_communicator.h"
#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/runtime/executor.h"
#include "engine/worker/worker.h"

namespace {

using namespace shardscope;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

using Samples = std::vector<double>;  // seconds, one of each training step

double sum_of_medians(const std::vector<Samples>& list) {
  double sum = 0;
  for (const Samples& samples : list) sum += median(samples);
  return sum;
}

// How long a stage takes for each instruction of its main sequence, and how long it waits for peers in it; what it
// waits at the end for the others is the last.
class StageClock : public ExecutionObserver {
 public:
  StageClock(const Plan& plan, int stage, std::chrono::milliseconds sleep)
      : plan_(plan),
        sequence_(plan.program.main(stage)),
        sleep_(sleep),
        waited_(static_cast<size_t>(sequence_.length) + 1),
        taken_(waited_.size()) {}

  void begin(int position) override {
    const TaskRun& run = run_at(sequence_, position);
    const Task& task = plan_.program.tasks[run.task];
    start_ = Clock::now();
    if (sleep_.count() > 0 && is_first_work(task, position - run.first))
      std::this_thread::sleep_for(factor(task) * sleep_);
  }
  void end(int position, int64_t waited_ns, int64_t) override {
    add(static_cast<size_t>(position), waited_ns * 1e-9, seconds(Clock::now() - start_));
  }
  void end_step(double waited) { add(waited_.size() - 1, waited, waited); }

  // Of the median step, put together from the median of each instruction: what else the machine does holds another one
  // up in each step.
  double bubble() const { return sum_of_medians(waited_) / sum_of_medians(taken_); }

 private:
  void add(size_t position, double waited, double taken) {
    waited_[position].push_back(waited);
    taken_[position].push_back(taken);
  }
  // Behind what it receives, before it computes and sends.
  bool is_first_work(const Task& task, int step) const {
    const auto works = [](const Instruction& one) { return one.kind() != InstructionKind::receive; };
    const bool repeated = task.phase == Phase::backward || task.name.starts_with("forward");
    return repeated && std::ranges::find_if(task.instructions, works) - task.instructions.begin() == step;
  }
  int factor(const Task& task) const {
    const bool splits = find_schedule(plan_.pipeline.schedule)->splits_backward;
    return task.phase == Phase::backward && !splits ? 2 : 1;
  }

  const Plan& plan_;
  const Sequence& sequence_;
  std::chrono::milliseconds sleep_;
  Clock::time_point start_;
  std::vector<Samples> waited_, taken_;  // by position
};

std::vector<StageClock> make_clocks(const Plan& plan, std::chrono::milliseconds sleep) {
  std::vector<StageClock> clocks;
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) clocks.emplace_back(plan, plan.stage_of(rank), sleep);
  return clocks;
}

void train(const Plan& plan, std::vector<StageClock>& clocks) {
  constexpr int steps = 9;
  std::vector<std::unique_ptr<Communicator>> world = make_thread_communicators(plan.mesh.device_count());
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
    threads.emplace_back([&, rank] {
      Communicator& communicator = *world[static_cast<size_t>(rank)];
      StageClock& clock = clocks[static_cast<size_t>(rank)];
      Mapping memory = Mapping::anonymous(rank_memory_bytes(plan));
      Executor executor(plan, rank, memory.data(), communicator, &clock);
      executor.run(Purpose::initialise, {});
      for (int step = 0; step < steps; ++step) {
        communicator.barrier();
        executor.run(Purpose::train_step, {step, true});
        const Clock::time_point done = Clock::now();
        communicator.barrier();
        clock.end_step(seconds(Clock::now() - done));
      }
    });
  }
}

double mean_bubble(const std::vector<StageClock>& clocks) {
  double sum = 0;
  for (const StageClock& clock : clocks) sum += clock.bubble();
  return sum / static_cast<double>(clocks.size());
}

RunConfig staged(RunConfig config, const std::string& schedule, int64_t stages, int64_t microbatches) {
  for (MeshAxis& axis : config.mesh_axes) axis.size = axis.name == "pipeline" ? stages : 1;
  config.schedule.microbatches = microbatches;
  config.pipeline = {"pipeline", schedule, schedule == "interleaved" ? 2 : 1, {}};
  return config;
}

// Layers whose work is nearly all matrix products, of equal times forward, of inputs and of weights.
RunConfig linear_layers(int64_t layers, int64_t width, int64_t batch) {
  std::vector<std::string> settings{fmt::format("model.input={}", width), fmt::format("data.batch_size={}", batch)};
  std::string list;
  for (int64_t i = 0; i < layers; ++i) list += fmt::format(R"({}"linear {}")", i > 0 ? R"(, "relu", )" : "", width);
  settings.push_back("model.layers=[" + list + "]");
  return with_settings(load_run_file("presets/workshop_gpipe.json"), settings);
}

void run() {
  fmt::print("{:<12} {:>6} {:>12} {:>10} {:>10}\n", "schedule", "stages", "microbatches", "predicted", "measured");
  const auto line = [](const Plan& plan, double predicted, const std::vector<StageClock>& clocks) {
    fmt::print("{:<12} {:>6} {:>12} {:>9.1f}% {:>9.1f}%\n", plan.pipeline.schedule, plan.program.stages,
               plan.pipeline.shape.microbatches, 100 * predicted, 100 * mean_bubble(clocks));
  };
  const RunConfig narrow = linear_layers(8, 32, 16), wide = linear_layers(8, 1024, 2048);
  for (const PipelineSchedule& schedule : all_schedules()) {
    const Plan plan = compile({staged(narrow, schedule.name, 4, 8), reference_host()});
    std::vector<StageClock> clocks = make_clocks(plan, std::chrono::milliseconds(40));
    train(plan, clocks);
    line(plan, plan.pipeline.equal_bubble, clocks);
  }
  std::vector<Plan> plans;
  for (const PipelineSchedule& schedule : all_schedules())
    plans.push_back(compile({staged(wide, schedule.name, 2, 4), host_machine()}));
  std::vector<std::vector<StageClock>> clocks;
  for (const Plan& plan : plans) clocks.push_back(make_clocks(plan, {}));
  for (int turn = 0; turn < 5; ++turn) {
    for (size_t i = 0; i < plans.size(); ++i) train(plans[i], clocks[i]);
  }
  for (size_t i = 0; i < plans.size(); ++i) line(plans[i], plans[i].simulation.bubble, clocks[i]);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 2;
  }
  return 0;
}
