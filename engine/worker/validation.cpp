#include "engine/worker/validation.h"

#include <cstring>

namespace shardscope {

// Of what is evaluated, telemetry tells no more than that the rank lives.
class Validation::Heartbeat : public ExecutionObserver {
 public:
  explicit Heartbeat(TelemetryWriter& writer) : writer_(writer) {}
  void begin(int position) override { writer_.begin_plan_step(position); }
  void end(int, int64_t, int64_t) override {}

 private:
  TelemetryWriter& writer_;
};

Validation::Validation(const Plan& plan, int device, Executor& executor, TelemetryWriter* telemetry)
    : executor_(executor) {
  if (!plan.trains()) return;
  evaluation_ = plan.training.data.evaluation;
  if (evaluation_.every == 0) return;
  for (const Metric& metric : plan.metrics) {
    if (metric.source == MetricSource::evaluation)
      values_.push_back(metric.values.at(static_cast<size_t>(executor.stage())));
  }
  inputs_ = std::make_unique<InputFiller>(plan, device, executor, make_validation_source(plan.training.data));
  if (telemetry) heartbeat_ = std::make_unique<Heartbeat>(*telemetry);
}

Validation::~Validation() = default;

std::vector<double> Validation::run(int64_t step) {
  std::vector<double> means(values_.size());
  for (int64_t batch = 0; batch < evaluation_.batches; ++batch) {
    RunHooks hooks;
    hooks.begin_microbatch = [&](int microbatch) { inputs_->fill(batch, microbatch); };
    hooks.observer = heartbeat_.get();
    executor_.run(Purpose::evaluate, {step, false}, hooks);
    for (size_t i = 0; i < values_.size(); ++i) {
      float value = 0;
      std::memcpy(&value, executor_.value(values_[i]).data(), sizeof value);
      means[i] += value / static_cast<double>(evaluation_.batches);
    }
  }
  return means;
}

}  // namespace shardscope
