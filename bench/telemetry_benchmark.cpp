// What measuring costs: the time that a rank spends on it per plan step and per training step, and the share that this
// is of a training step of small and of real plans. telemetry_benchmark [RUN_FILE...]
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "engine/session/telemetry.h"
#include "engine/worker/outside_memory.h"
#include "engine/worker/step_meter.h"
#include "tests/training/thread_training.h"

using namespace shardscope;

namespace {

constexpr int rounds = 15;

// The best of some rounds: what it takes when nothing disturbs.
template <class Work>
double best_ns(int64_t times, Work work) {
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const int64_t begin = monotonic_ns();
    for (int64_t i = 0; i < times; ++i) work(i);
    best = std::min(best, static_cast<double>(monotonic_ns() - begin) / static_cast<double>(times));
  }
  return best;
}

struct Cost {
  double plan_step_ns = 0, training_step_ns = 0;
};

Cost measure(const Plan& plan) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("telemetry_{}", monotonic_ns());
  std::filesystem::create_directory(directory);
  Cost cost;
  {
    TelemetryWriter writer(directory, 0, 1);
    writer.set_plan(plan.hash, plan.instructions().size());
    TelemetryReader reader = TelemetryReader::open(directory, 0).value();
    StepMeter meter(plan, 0, &writer);
    writer.begin_training_step(0);
    meter.start();
    cost.plan_step_ns = best_ns(20000, [&](int64_t i) {
      meter.begin(static_cast<int>(i % plan.instructions().size()));
      meter.end(static_cast<int>(i % plan.instructions().size()), 0, 0);
    });
    TraceChooser chooser(plan.instructions().size());
    OutsideMemory outside;
    StepRecord record;
    cost.training_step_ns = best_ns(2000, [&](int64_t i) {
      writer.begin_training_step(i);
      meter.start();
      meter.read(record.measured);
      record.measured.outside_bytes = outside.bytes();
      writer.add_step(record);
      const TraceChooser::Kept kept = chooser.choose(1, false);
      if (kept.latest) writer.keep_trace(TraceChoice::latest);
      if (i % 500 == 0) reader.take_steps();
    });
    reader.take_steps();
  }
  std::filesystem::remove_all(directory);
  return cost;
}

void report(const std::string& file) {
  const Plan plan = compile({load_run_config(file), reference_host()});
  const Cost cost = measure(plan);
  const ThreadTraining training = train_in_threads(plan, 6);
  double step_ms = 1e300;
  for (const StepMessage& step : training.steps) step_ms = std::min(step_ms, step.step_ms);
  const double own_ms = (cost.plan_step_ns * plan.instructions().size() + cost.training_step_ns) * 1e-6;
  fmt::print(
      "{:<28} {:>6} plan steps, {:>9.3f} ms a step; measuring: {:>5.0f} ns a plan step, {:>6.0f} ns a training "
      "step: {:.3f} ms, {:.3f} %\n",
      std::filesystem::path(file).stem().string(), plan.instructions().size(), step_ms, cost.plan_step_ns,
      cost.training_step_ns, own_ms, 100 * own_ms / step_ms);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) {
    for (const char* name : {"parallax_decoder", "mintext_mlp", "tiny_lm_fsdp"}) {
      files.push_back(std::string(SHARDSCOPE_SOURCE_DIR "/presets/") + name + ".json");
    }
  }
  for (const std::string& file : files) report(file);
  return 0;
}
