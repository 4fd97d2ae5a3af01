#include "engine/worker/worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "engine/base/align.h"
#include "engine/base/hash.h"
#include "engine/base/heap.h"
#include "engine/base/loaded_code.h"
#include "engine/base/plural.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"
#include "engine/session/rank_words.h"
#include "engine/worker/data_check.h"
#include "engine/worker/input_filler.h"
#include "engine/worker/load_weights.h"
#include "engine/worker/non_finite_loss.h"
#include "engine/worker/outside_memory.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/rank_exchange.h"
#include "engine/worker/sampled_number.h"
#include "engine/worker/step_meter.h"
#include "engine/worker/stored_bytes.h"
#include "engine/worker/stored_states.h"
#include "engine/worker/validation.h"

namespace shardscope {

namespace {

constexpr int64_t margin_bytes = 64 << 10;
constexpr int64_t outside_interval_ns = 10'000'000'000;

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
        expert_numbers_(load_numbers(plan.expert_layers)),
        world_(world),
        hooks_(hooks),
        arena_(memory),
        heap_mark_(heap_bytes()),
        exchange_(world),
        meter_(plan, plan.stage_of(world.rank()), hooks.telemetry),
        traces_(int64_t{plan.instructions(plan.stage_of(world.rank())).size()} * world.size()),
        executor_(plan, world.rank(), arena_.base(), world, &meter_),
        purpose_(plan.program.main().purpose),
        data_(check_run_data(plan, world, hooks.data_at_start, hooks.checkpoints.allow_changed_data,
                             hooks.checkpoints.say)),
        inputs_(plan, world.rank(), executor_),
        validation_(plan, world.rank(), executor_, hooks.telemetry),
        checkpoints_(plan, executor_, world, hooks.checkpoints, data_) {
    if (!hooks.parameter_file.empty()) {
      parameter_file_ = std::make_unique<ParameterFile>(plan, world.rank(), hooks.parameter_file);
    }
    const std::optional<int64_t> restored = checkpoints_.restore(steps);
    if (!restored) {
      executor_.run(Purpose::initialise, {});
      load_weights(plan, world.rank(), executor_, world.rank() == 0 ? hooks.checkpoints.note : nullptr);
    }
    first_step_ = restored.value_or(0);
    inputs_.prepare(first_step_, [telemetry = hooks.telemetry] {
      if (telemetry) telemetry->beat();
    });
    checkpoints_.begin(first_step_);
    if (hooks.on_begin) hooks.on_begin(first_step_);
    stored_ = measure_stored(plan, executor_, arena_);
    if (!hooks_.telemetry) return;
    hooks_.telemetry->set_state(RankState::running);
  }

  int64_t first_step() const { return first_step_; }

  // Returns whether to go on.
  bool step(int64_t step) {
    if (hooks_.telemetry) hooks_.telemetry->begin_training_step(step);
    const double sent = world_.wire_bytes();
    const int64_t moved = world_.moved_bytes();
    const auto start = std::chrono::steady_clock::now();
    const StepContext context{step, purpose_ == Purpose::train_step};
    std::chrono::duration<double, std::milli> making_inputs{};
    RunHooks run;
    run.begin_microbatch = [&](int microbatch) {
      meter_.pause();
      const auto begin = std::chrono::steady_clock::now();
      inputs_.fill(step, microbatch);
      making_inputs += std::chrono::steady_clock::now() - begin;
      meter_.resume();
    };
    run.should_continue = [this](const Task& task) {
      return hooks_.keep_going || task.phase != Phase::update || !non_finite_metric();
    };
    meter_.start();
    executor_.run(purpose_, context, run);
    if (const Metric* lost = hooks_.keep_going ? nullptr : non_finite_metric()) {
      const std::string what = fmt::format("{} is {}", lost->name, scalar(executor_, value_here(*lost)));
      throw explain_non_finite_loss(plan_, executor_, world_, context, run.begin_microbatch, what);
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start - making_inputs;

    const RankMeasurement measured = measure(world_.wire_bytes() - sent, world_.moved_bytes() - moved);
    read_expert_numbers();
    const std::vector<ExpertLoad> loads = expert_loads(plan_.expert_layers, expert_numbers_);
    StepRecord record{step, took.count(), measured, metric_numbers(step, loads)};
    if (validation_.is_due(step)) evaluate(step, record.metrics);
    if (hooks_.telemetry) {
      hooks_.telemetry->put_expert_load(step, expert_numbers_);
      hooks_.telemetry->add_step(record);
    }

    StepMessage message{step, with_names(metric_names_, record.metrics), 0, {}};
    bool stop = false;
    for (const StepLine& line : exchange_.gather(StepLine{measured, record.step_ms, stop_requested()})) {
      message.step_ms = std::max(message.step_ms, line.step_ms);
      message.ranks.push_back(line.measured);
      stop |= line.stop != 0;
    }
    const bool is_last = stop || step + 1 == steps_;
    keep_trace(message.step_ms, is_last);
    if (hooks_.on_expert_load && !loads.empty()) hooks_.on_expert_load(loads);
    if (hooks_.on_step) hooks_.on_step(message);
    if (!is_last) checkpoints_.after_step(step + 1);
    return !stop;
  }

  void end(int64_t done) {
    const std::optional<Failure> lost_end = checkpoints_.end(done);
    if (parameter_file_) parameter_file_->write(executor_, world_);
    exchange_.throw_together(lost_end);
  }

 private:
  RankMeasurement measure(double sent, int64_t moved) {
    RankMeasurement measured;
    measured.rank = world_.rank();
    measured.arena_bytes = arena_.measured_bytes();
    measured.heap_bytes = heap_.value() - heap_mark_;
    if (hooks_.telemetry) measured.outside_bytes = outside_.value();
    measured.wire_bytes = sent;
    measured.moved_bytes = moved;
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
    if (kept.median) hooks_.telemetry->keep_trace(TraceChoice::median);
  }

  // They are the same on every rank.
  void read_expert_numbers() {
    const auto stage = static_cast<size_t>(executor_.stage());
    auto number = expert_numbers_.begin();
    for (const ExpertLayer& layer : plan_.expert_layers) {
      const std::span<std::byte> chosen = executor_.value(layer.chosen.at(stage));
      std::memcpy(&*number, chosen.data(), chosen.size());
      number += layer.experts;
      *number++ = layer.dropped.empty() ? 0 : scalar(executor_, layer.dropped.at(stage));
    }
  }

  MetricNumbers metric_numbers(int64_t step, std::span<const ExpertLoad> loads) const {
    MetricNumbers numbers{};
    for (size_t i = 0; i < plan_.metrics.size(); ++i) {
      switch (plan_.metrics[i].source) {
        case MetricSource::step: numbers[i] = scalar(executor_, value_here(plan_.metrics[i])); break;
        case MetricSource::evaluation: numbers[i] = std::numeric_limits<double>::quiet_NaN(); break;
        case MetricSource::schedule: numbers[i] = plan_.training.learning_rate.at(step); break;
        case MetricSource::expert_imbalance: numbers[i] = largest_imbalance(loads); break;
        case MetricSource::dropped_tokens: numbers[i] = dropped_tokens(loads); break;
      }
    }
    return numbers;
  }

  void evaluate(int64_t step, MetricNumbers& numbers) {
    const std::vector<double> means = validation_.run(step);
    inputs_.forget();
    auto mean = means.begin();
    for (size_t i = 0; i < plan_.metrics.size(); ++i) {
      if (plan_.metrics[i].source == MetricSource::evaluation) numbers[i] = *mean++;
    }
  }

  int value_here(const Metric& metric) const { return metric.values.at(static_cast<size_t>(executor_.stage())); }

  // One that is infinite or nan; null where all are numbers.
  const Metric* non_finite_metric() const {
    for (const Metric& metric : plan_.metrics) {
      if (metric.source == MetricSource::step && !std::isfinite(scalar(executor_, value_here(metric)))) return &metric;
    }
    return nullptr;
  }

  bool stop_requested() const {
    return hooks_.stop.stop_requested() || (world_.rank() == 0 && hooks_.control && hooks_.control->stop_requested());
  }

  const Plan& plan_;
  int64_t steps_;
  std::vector<std::string> metric_names_;
  std::vector<float> expert_numbers_;  // of the step that is done (engine/plan/expert_load.h)
  Communicator& world_;
  const TrainHooks& hooks_;
  Arena arena_;
  int64_t heap_mark_;
  RankExchange exchange_;
  StepMeter meter_;
  TraceChooser traces_;
  SampledNumber heap_{heap_bytes, 0}, outside_{private_bytes, outside_interval_ns};
  Executor executor_;
  Purpose purpose_;
  StoredBytes stored_;
  DataIdentity data_;
  InputFiller inputs_;
  Validation validation_;
  std::unique_ptr<ParameterFile> parameter_file_;
  Checkpointing checkpoints_;
  int64_t first_step_ = 0;
};

// "ranks 0 1 3 plan 000000000000002a, rank 2 plan 000000000000002b"; empty where all have the same number. Collective.
std::string ranks_that_differ(Communicator& world, const char* what, uint64_t number) {
  const std::vector<uint64_t> numbers = RankExchange(world).gather(number);
  std::map<uint64_t, std::vector<int>> holders;
  for (size_t rank = 0; rank < numbers.size(); ++rank) holders[numbers[rank]].push_back(static_cast<int>(rank));
  if (holders.size() == 1) return {};
  std::string text;
  for (const auto& [held, ranks] : holders) {
    text += fmt::format("{}{} {} {} {:016x}", text.empty() ? "" : ", ", ranks.size() > 1 ? "ranks" : "rank",
                        fmt::join(ranks, " "), what, held);
  }
  return text;
}

}  // namespace

int64_t rank_memory_bytes(const Plan& plan) { return round_up(plan.arena_bytes()) + margin_bytes; }

void check_code(const std::string& code, Communicator& world) {
  const std::string differing = ranks_that_differ(world, "code", hash_bytes(code));
  if (differing.empty()) return;
  throw Failure({"code_mismatch", "the ranks run different builds of this program or its libraries: " + differing,
                 on_rank(world.rank()), "install one build everywhere; here there is " + code});
}

void check_ranks(const Plan& plan, Communicator& world) {
  if (plan.training.refusal) throw Failure(*plan.training.refusal);
  check_code(loaded_code(), world);
  if (const std::string differing = ranks_that_differ(world, "plan", plan.hash); !differing.empty()) {
    throw Failure({"plan_mismatch", "the ranks hold different plans: " + differing, "",
                   "start every rank with the same run file, overrides and machine"});
  }
  const int devices = plan.mesh.device_count();
  if (world.size() != devices) {
    throw Failure(
        {"world_size",
         fmt::format("mesh {} needs {}, started with {}", mesh_text(plan.mesh), counted(devices, "rank"), world.size()),
         "mesh.axes", fmt::format("start {} (mpirun -n {}), or change the mesh", counted(devices, "rank"), devices)});
  }
}

int64_t train(const Plan& plan, int64_t steps, Communicator& world, std::span<std::byte> memory,
              const TrainHooks& hooks) {
  check_ranks(plan, world);
  try {
    if (hooks.telemetry) {
      const size_t numbers = world.rank() == 0 ? load_numbers(plan.expert_layers) : 0;  // every rank has the same
      hooks.telemetry->set_plan(plan.hash, plan.instructions(plan.stage_of(world.rank())).size(), numbers);
    }
    const auto enter = [&](RankPhase phase) {
      if (hooks.on_phase) hooks.on_phase(phase);
    };
    enter(RankPhase::initialising);
    Training training(plan, steps, world, memory, hooks);
    enter(RankPhase::training);
    int64_t done = training.first_step();
    for (bool goes_on = true; goes_on && done < steps; ++done) goes_on = training.step(done);
    enter(RankPhase::finishing);
    training.end(done);
    if (hooks.telemetry) hooks.telemetry->set_state(RankState::finished);
    return done;
  } catch (const std::exception& error) {
    if (hooks.telemetry) hooks.telemetry->fail(own_words(error, world.rank()));  // before the peers fail for it
    world.abort();
    throw;
  }
}

}  // namespace shardscope
