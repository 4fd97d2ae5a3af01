#include "gui/planning/planner.h"

#include "engine/base/path.h"
#include "gui/planning/disposal.h"
#include "gui/planning/errors_of_work.h"
#include "gui/planning/later_iteration.h"

namespace shardscope {
namespace {

template <class T>
const T* find_by_path(const std::vector<T>& all, const std::unordered_map<std::string, int>& index,
                      const std::vector<std::string>& path) {
  const auto found = index.find(join_path(path));
  return found == index.end() ? nullptr : &all[found->second];
}

std::vector<Error> faults_of(const RunConfig& config) {
  std::vector<Error> faults = validate(config);
  if (!faults.empty()) return faults;
  try {
    plan_request(config);
  } catch (const Failure& failure) {
    return failure.errors();
  }
  return {};
}

}  // namespace

PlanSource compiled_plans() {
  return {[](const RunConfig& config, std::stop_token stop) { return compile(plan_request(config), stop); },
          [](const RunConfig& config) { return list_parameters(config); },
          [](const RunConfig& config) { return faults_of(config); }};
}

Planner::Planner(PlanSource source, QObject* parent) : QObject(parent), source_(std::move(source)) {
  connect(
      this, &Planner::finished, this, [this] { in_later_iteration(this, [this] { receive(); }); },
      Qt::QueuedConnection);
  thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
}

Planner::~Planner() {
  thread_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    running_.request_stop();
  }
  thread_.join();
}

void Planner::request(std::shared_ptr<const RunConfig> config) {
  ++requested_;
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(config);
    waiting_number_ = requested_;
    running_.request_stop();
  }
  wake_.notify_one();
  emit requested();
}

void Planner::forget() {
  ++requested_;  // what is still on its way is not taken
  plan_.reset();
  index_ = std::make_shared<const PlanIndex>();
  previous_totals_.reset();
  errors_.clear();
  model_ = std::make_shared<const ModelIndex>();
  emit delivered();
}

void Planner::work(std::stop_token stop) {
  while (true) {
    std::shared_ptr<const RunConfig> config;
    uint64_t number = 0;
    std::stop_token cancel;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return waiting_ != nullptr; })) return;
      config = std::move(waiting_);
      number = waiting_number_;
      running_ = std::stop_source();
      if (stop.stop_requested()) return;
      cancel = running_.get_token();
    }
    try {
      Outcome outcome = run(number, *config, cancel);
      {
        const std::lock_guard lock(mutex_);
        outcome_ = std::move(outcome);
      }
      emit finished();
    } catch (const Cancelled&) {
    }
  }
}

Planner::Outcome Planner::run(uint64_t number, const RunConfig& config, std::stop_token stop) {
  Outcome outcome;
  std::vector<ParameterInfo> parameters;  // in a plan's order where there is one
  outcome.number = number;
  outcome.errors = errors_of_work([&] {
    std::shared_ptr<const Plan> plan = share(source_.plan(config, stop));
    outcome.index = share(PlanIndex(*plan));
    outcome.plan = std::move(plan);
    for (const ParameterPlan& parameter : outcome.plan->parameters)
      parameters.push_back({parameter.path, {parameter.shape, parameter.dtype}});
  });
  throw_if_stopped(stop);
  if (!outcome.plan) {
    try {
      parameters = source_.parameters(config);
    } catch (const std::exception&) {
      // The model itself is at fault; its errors are those reported already.
    }
  }
  if (parameters.empty()) return outcome;
  if (!last_model_ || last_model_->parameters != parameters) last_model_ = share(ModelIndex(std::move(parameters)));
  outcome.model = last_model_;
  return outcome;
}

const ParameterInfo* Planner::find_parameter(const std::vector<std::string>& path) const {
  return find_by_path(model_->parameters, model_->parameter_at, path);
}

const ParameterPlan* Planner::find_planned(const std::vector<std::string>& path) const {
  return plan_ ? find_by_path(plan_->parameters, index_->parameter_at, path) : nullptr;
}

void Planner::receive() {
  Outcome outcome;
  {
    const std::lock_guard lock(mutex_);
    if (!outcome_) return;
    outcome = *std::exchange(outcome_, std::nullopt);
  }
  if (outcome.number != requested_) return;
  delivered_ = outcome.number;
  errors_ = std::move(outcome.errors);
  if (outcome.plan) {
    previous_totals_ = plan_ ? std::optional(plan_->totals) : std::nullopt;
    plan_ = std::move(outcome.plan);
    index_ = std::move(outcome.index);
  }
  if (outcome.model) model_ = std::move(outcome.model);
  emit delivered();
}

}  // namespace shardscope
