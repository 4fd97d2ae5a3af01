#include "engine/worker/worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/align.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"
#include "engine/worker/input_filler.h"
#include "engine/worker/lost_loss.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/rank_exchange.h"
#include "engine/worker/stored_bytes.h"
#include "engine/worker/telemetry_trace.h"

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
  RankUse use;
  int64_t stop = 0;
};

// Does the main sequence of a plan again and again: training steps, or evaluations where the plan does not train.
class Training {
 public:
  Training(const Plan& plan, Communicator& world, std::span<std::byte> memory, const TrainHooks& hooks)
      : plan_(plan),
        metric_names_(metric_names(plan.metrics)),
        world_(world),
        hooks_(hooks),
        arena_(memory),
        heap_mark_(heap_bytes()),
        exchange_(world),
        trace_(hooks.telemetry ? std::make_unique<TelemetryTrace>(*hooks.telemetry) : nullptr),
        executor_(plan, world.rank(), arena_.base(), world, trace_.get()),
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
    if (trace_) trace_->begin_training_step(step);
    if (hooks_.telemetry) hooks_.telemetry->begin_training_step(step);
    const double sent = world_.wire_bytes();
    const auto start = std::chrono::steady_clock::now();
    const StepContext context{step, purpose_ == Purpose::train_step};
    std::chrono::duration<double, std::milli> making_inputs{};
    RunHooks run;
    run.begin_microbatch = [&](int microbatch) {
      const auto begin = std::chrono::steady_clock::now();
      inputs_.fill(step, microbatch);
      making_inputs += std::chrono::steady_clock::now() - begin;
    };
    run.go_on = [this](const Task& task) { return hooks_.keep_going || task.phase != Phase::update || !lost_metric(); };
    executor_.run(purpose_, context, run);
    if (const Metric* lost = hooks_.keep_going ? nullptr : lost_metric()) {
      const std::string what = fmt::format("{} is {}", lost->name, scalar(executor_, lost->value));
      throw explain_lost_loss(plan_, executor_, world_, context, run.begin_microbatch, what);
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start - making_inputs;

    StepLine own;
    own.use = {arena_.measured_bytes(), heap_bytes() - heap_mark_, world_.wire_bytes() - sent, stored_.parameters,
               stored_.optimizer};
    own.stop = stop_requested();
    StepReport report;
    report.record = {step, took.count(), own.use, metric_numbers()};
    report.metrics = with_names(metric_names_, report.record.metrics);
    if (hooks_.telemetry) hooks_.telemetry->add_step(report.record);

    bool stop = false;
    for (const StepLine& line : exchange_.gather(own)) {
      report.ranks.push_back(line.use);
      stop |= line.stop != 0;
    }
    if (hooks_.on_step) hooks_.on_step(report);
    return !stop;
  }

  void end() {
    if (parameter_file_) parameter_file_->write(executor_, world_);
  }

 private:
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
  std::vector<std::string> metric_names_;
  Communicator& world_;
  const TrainHooks& hooks_;
  Arena arena_;
  int64_t heap_mark_;
  RankExchange exchange_;
  std::unique_ptr<TelemetryTrace> trace_;
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
    if (hooks.telemetry) hooks.telemetry->set_plan_hash(plan.hash);
    Training training(plan, world, memory, hooks);
    int64_t done = 0;
    for (bool go_on = true; go_on && done < steps; ++done) go_on = training.step(done);
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
