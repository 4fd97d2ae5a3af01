// bubble_benchmark [PRESET]: the bubble of each schedule, measured beside the predicted one. 4 stages x 8 microbatches
// as threads, whose tasks sleep: forward 40 ms, backward 80 ms (of inputs and of weights 40 ms each), so that cores and
// the update hardly matter; then 2 stages that compute, on as many cores.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "engine/comm/mapping.h"
#include "engine/comm/thread_communicator.h"
#include "engine/compile/compile.h"
#include "engine/compile/data_paths.h"
#include "engine/compile/settings.h"
#include "engine/plan/pipeline_timeline.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/runtime/executor.h"
#include "engine/worker/worker.h"

namespace {

using namespace shardscope;
using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// How long each run of a task takes: its steps, and waiting for peers, apart.
class TaskClock : public ExecutionObserver {
 public:
  TaskClock(const Plan& plan, int stage, std::chrono::milliseconds sleep)
      : plan_(plan), sequence_(plan.program.main(stage)), sleep_(sleep) {}

  void begin(int position) override {
    const TaskRun& run = run_at(sequence_, position);
    const Task& task = plan_.program.tasks[run.task];
    if (sleep_.count() > 0 && is_first_work(task, position - run.first))
      std::this_thread::sleep_for(factor(task) * sleep_);
    start_ = Clock::now();
    if (!began_) began_ = start_;
  }
  void end(int, int64_t waited_ns, int64_t) override {
    ended_ = Clock::now();
    waited_ += waited_ns * 1e-9;
  }
  void restart() { waited_ = 0, began_.reset(); }
  double waited() const { return waited_; }
  double length() const { return seconds(ended_ - *began_); }

 private:
  // Behind what it receives, before it computes and sends.
  bool is_first_work(const Task& task, int step) const {
    const auto works = [](const Step& one) { return one.kind != StepKind::receive; };
    const bool repeated = task.phase == Phase::backward || task.name.starts_with("forward");
    return repeated && std::ranges::find_if(task.steps, works) - task.steps.begin() == step;
  }
  int factor(const Task& task) const {
    const bool splits = find_schedule(plan_.config.pipeline.schedule)->splits_backward;
    return task.phase == Phase::backward && !splits ? 2 : 1;
  }

  const Plan& plan_;
  const Sequence& sequence_;
  std::chrono::milliseconds sleep_;
  std::optional<Clock::time_point> began_;
  Clock::time_point start_, ended_;
  double waited_ = 0;
};

// The share of a step in which stages wait, mean over stages; of the median step.
double measured_bubble(const Plan& plan, std::chrono::milliseconds sleep) {
  constexpr int steps = 9;
  const int ranks = plan.mesh.device_count();
  std::vector<std::unique_ptr<Communicator>> world = make_thread_communicators(ranks);
  std::vector<std::vector<double>> bubbles(steps, std::vector<double>(static_cast<size_t>(ranks)));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Mapping memory = Mapping::anonymous(rank_memory_bytes(plan));
      TaskClock clock(plan, plan.stage_of(rank), sleep);
      Executor executor(plan, rank, memory.data(), *world[static_cast<size_t>(rank)], &clock);
      executor.run(Purpose::initialise, {});
      for (int step = 0; step < steps; ++step) {
        world[static_cast<size_t>(rank)]->barrier();
        clock.restart();
        const Clock::time_point start = Clock::now();
        executor.run(Purpose::train_step, {step, true});
        const double before = clock.waited();
        world[static_cast<size_t>(rank)]->barrier();
        const double whole = seconds(Clock::now() - start);
        bubbles[static_cast<size_t>(step)][static_cast<size_t>(rank)] = (before + whole - clock.length()) / whole;
      }
    });
  }
  threads.clear();
  std::vector<double> of_steps;
  for (const std::vector<double>& step : bubbles) {
    of_steps.push_back(std::accumulate(step.begin(), step.end(), 0.0) / ranks);
  }
  std::ranges::nth_element(of_steps, of_steps.begin() + steps / 2);
  return of_steps[steps / 2];
}

RunConfig staged(const std::string& file, const std::string& schedule, int64_t stages, int64_t microbatches,
                 const std::vector<std::string>& settings) {
  RunConfig config = with_settings(load_run_file(file), settings);
  for (MeshAxis& axis : config.mesh_axes) axis.size = 1;
  config.mesh_axes.push_back({"pipeline", stages});
  config.schedule.microbatches = microbatches;
  config.pipeline = {"pipeline", schedule, schedule == "interleaved" ? 2 : 1, {}};
  return config;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "presets/nnx_gpt2.json";
  fmt::print("{:<12} {:>6} {:>12} {:>10} {:>10}\n", "schedule", "stages", "microbatches", "predicted", "measured");
  const auto line = [](const Plan& plan, double predicted, double measured) {
    fmt::print("{:<12} {:>6} {:>12} {:>9.1f}% {:>9.1f}%\n", plan.config.pipeline.schedule, plan.program.stages,
               plan.pipeline.shape.microbatches, 100 * predicted, 100 * measured);
  };
  const std::vector<std::string> small{"model.num_layers=8", "model.embed_dim=32",  "model.ff_dim=64",
                                       "model.seq_len=16",   "model.vocab_size=64", "data.batch_size=16"};
  for (const PipelineSchedule& schedule : all_schedules()) {
    const Plan plan = compile(staged(file, schedule.name, 4, 8, small), DeviceProfile{});
    line(plan, plan.pipeline.equal_bubble, measured_bubble(plan, std::chrono::milliseconds(40)));
  }
  const DeviceProfile profile = host_profile();
  for (const PipelineSchedule& schedule : all_schedules()) {
    const Plan plan = compile(staged(file, schedule.name, 2, 4, {"model.num_layers=4"}), profile);
    line(plan, plan.pipeline.timeline.bubble, measured_bubble(plan, std::chrono::milliseconds(0)));
  }
  return 0;
}
