#include "engine/worker/worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/align.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"
#include "engine/worker/input_filler.h"
#include "engine/worker/lost_loss.h"
#include "engine/worker/outside_memory.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/rank_exchange.h"
#include "engine/worker/step_meter.h"
#include "engine/worker/stored_bytes.h"

namespace shardscope {

namespace {

constexpr int64_t margin_bytes = 64 << 10;

std::string mesh_text(const Mesh& mesh) {
  std::string text = "mesh";
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    text += fmt::format("{} {} {}", axis ? " x" : "", mesh.axes()[axis].name, mesh.axes()[axis].size);
  }
  return text;
}

float scalar(const Executor& executor, int value) {
  float result = 0;
  std::memcpy(&result, executor.value(value).data(), sizeof result);
  return result;
}

// What the ranks tell each other after a step.
struct StepLine {
  RankMeasurement measured;
  double step_ms = 0;
  int64_t stop = 0;
};

// Does the main sequence of a plan again and again: training steps, or evaluations where the plan does not train.
class Training {
 public:
  Training(const Plan& plan, int64_t steps, Communicator& world, std::span<std::byte> memory, const TrainHooks& hooks)
      : plan_(plan),
        steps_(steps),
        metric_names_(metric_names(plan.metrics)),
        world_(world),
        hooks_(hooks),
        arena_(memory),
        heap_mark_(heap_bytes()),
        exchange_(world),
        meter_(plan, hooks.telemetry),
        traces_(int64_t{plan.steps().size()} * world.size()),
        executor_(plan, world.rank(), arena_.base(), world, &meter_),
        purpose_(plan.program.main().purpose),
        inputs_(plan, world.rank(), executor_) {
    if (!hooks.parameter_file.empty()) {
      parameter_file_ = std::make_unique<ParameterFile>(plan, world.rank(), hooks.parameter_file);
    }
    executor_.run(Purpose::initialise, {});
    stored_ = measure_stored(plan, executor_, arena_);
    if (!hooks_.telemetry) return;
    hooks_.telemetry->set_state(RankState::running);
  }

  // Returns whether to go on.
  bool step(int64_t step) {
    if (hooks_.telemetry) hooks_.telemetry->begin_training_step(step);
    inputs_.fill(step);
    const double sent = world_.wire_bytes();
    const auto start = std::chrono::steady_clock::now();
    const StepContext context{step, purpose_ == Purpose::train_step};
    meter_.start();
    executor_.run(purpose_, context, {[this](const Task& task) {
                    return hooks_.keep_going || task.phase != Phase::update || !lost_metric();
                  }});
    if (const Metric* lost = hooks_.keep_going ? nullptr : lost_metric()) {
      const std::string what = fmt::format("{} is {}", lost->name, scalar(executor_, lost->value));
      throw explain_lost_loss(plan_, executor_, world_, context, what);
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

    const RankMeasurement measured = measure(world_.wire_bytes() - sent);
    const StepRecord record{step, took.count(), measured, metric_numbers()};
    if (hooks_.telemetry) hooks_.telemetry->add_step(record);

    StepMessage message{step, with_names(metric_names_, record.metrics), 0, {}};
    bool stop = false;
    for (const StepLine& line : exchange_.gather(StepLine{measured, record.step_ms, stop_requested()})) {
      message.step_ms = std::max(message.step_ms, line.step_ms);
      message.ranks.push_back(line.measured);
      stop |= line.stop != 0;
    }
    keep_trace(message.step_ms, stop || step + 1 == steps_);
    if (hooks_.on_step) hooks_.on_step(message);
    return !stop;
  }

  void end() {
    if (parameter_file_) parameter_file_->write(executor_, world_);
  }

 private:
  RankMeasurement measure(double sent) {
    RankMeasurement measured;
    measured.rank = world_.rank();
    measured.arena_bytes = arena_.measured_bytes();
    measured.heap_bytes = heap_bytes() - heap_mark_;
    measured.outside_bytes = outside_.bytes();
    measured.wire_bytes = sent;
    measured.parameter_bytes = stored_.parameters;
    measured.optimizer_bytes = stored_.optimizer;
    meter_.read(measured);
    return measured;
  }

  void keep_trace(double step_ms, bool is_last) {
    const TraceChooser::Kept kept = traces_.choose(step_ms, is_last);
    if (!hooks_.telemetry) return;
    if (kept.latest) hooks_.telemetry->keep_trace(TraceChoice::latest);
    if (kept.slowest) hooks_.telemetry->keep_trace(TraceChoice::slowest);
  }

  MetricNumbers metric_numbers() const {
    MetricNumbers numbers{};
    for (size_t i = 0; i < plan_.metrics.size(); ++i) numbers[i] = scalar(executor_, plan_.metrics[i].value);
    return numbers;
  }

  // One that is infinite or nan; null where all are numbers.
  const Metric* lost_metric() const {
    for (const Metric& metric : plan_.metrics) {
      if (!std::isfinite(scalar(executor_, metric.value))) return &metric;
    }
    return nullptr;
  }

  bool stop_requested() const {
    return hooks_.stop.stop_requested() || (world_.rank() == 0 && hooks_.control && hooks_.control->stop_requested());
  }

  const Plan& plan_;
  int64_t steps_;
  std::vector<std::string> metric_names_;
  Communicator& world_;
  const TrainHooks& hooks_;
  Arena arena_;
  int64_t heap_mark_;
  RankExchange exchange_;
  StepMeter meter_;
  TraceChooser traces_;
  OutsideMemory outside_;
  Executor executor_;
  Purpose purpose_;
  StoredBytes stored_;
  InputFiller inputs_;
  std::unique_ptr<ParameterFile> parameter_file_;
};

}  // namespace

int64_t rank_memory_bytes(const Plan& plan) { return round_up(plan.arena.bytes) + margin_bytes; }

void check_ranks(const Plan& plan, Communicator& world) {
  const std::vector<uint64_t> hashes = RankExchange(world).gather(plan.hash);
  std::map<uint64_t, std::vector<int>> holders;
  for (size_t rank = 0; rank < hashes.size(); ++rank) holders[hashes[rank]].push_back(static_cast<int>(rank));
  if (holders.size() > 1) {
    std::string text;
    for (const auto& [hash, ranks] : holders) {
      text += fmt::format("{}{} {} plan {:016x}", text.empty() ? "" : ", ", ranks.size() > 1 ? "ranks" : "rank",
                          fmt::join(ranks, " "), hash);
    }
    throw Failure({"plan_mismatch", "the ranks hold different plans: " + text, "",
                   "start every rank with the same run file, overrides and program version"});
  }
  const int devices = plan.mesh.device_count();
  if (world.size() != devices) {
    throw Failure({"world_size",
                   fmt::format("{} needs {} rank{}, started with {}", mesh_text(plan.mesh), devices,
                               devices == 1 ? "" : "s", world.size()),
                   "mesh.axes", fmt::format("start {} ranks (mpirun -n {}), or change the mesh", devices, devices)});
  }
}

int64_t train(const Plan& plan, int64_t steps, Communicator& world, std::span<std::byte> memory,
              const TrainHooks& hooks) {
  check_ranks(plan, world);
  try {
    if (hooks.telemetry) hooks.telemetry->set_plan(plan.hash, plan.steps().size());
    const auto enter = [&](RankPhase phase) {
      if (hooks.on_phase) hooks.on_phase(phase);
    };
    enter(RankPhase::initialising);
    Training training(plan, steps, world, memory, hooks);
    enter(RankPhase::training);
    int64_t done = 0;
    for (bool go_on = true; go_on && done < steps; ++done) go_on = training.step(done);
    enter(RankPhase::finishing);
    training.end();
    if (hooks.telemetry) hooks.telemetry->set_state(RankState::finished);
    return done;
  } catch (const std::exception& error) {
    if (hooks.telemetry) hooks.telemetry->fail(error.what());  // before the peers fail for it
    world.abort();
    throw;
  }
}

}  // namespace shardscope
