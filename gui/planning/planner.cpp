#include "gui/planning/planner.h"

#include "engine/base/path.h"

namespace shardscope {
namespace {

template <class T>
const T* find_by_path(const std::vector<T>& all, const std::unordered_map<std::string, size_t>* index,
                      const std::vector<std::string>& path) {
  if (!index) return nullptr;
  const auto found = index->find(join_path(path));
  return found == index->end() ? nullptr : &all[found->second];
}

}  // namespace

PlanSource compiled_plans() {
  return {[](const RunConfig& config, std::stop_token stop) { return compile(config, host_profile(), stop); },
          [](const RunConfig& config) { return list_parameters(config); }};
}

Planner::Planner(PlanSource source, QObject* parent) : QObject(parent), source_(std::move(source)) {
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

void Planner::request(const RunConfig& config) {
  ++requested_;
  {
    const std::lock_guard lock(mutex_);
    waiting_ = config;
    waiting_number_ = requested_;
    running_.request_stop();
  }
  wake_.notify_one();
  emit requested();
}

void Planner::work(std::stop_token stop) {
  while (true) {
    RunConfig config;
    uint64_t number = 0;
    std::stop_token cancel;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return waiting_.has_value(); })) return;
      config = std::move(*waiting_);
      waiting_.reset();
      number = waiting_number_;
      running_ = std::stop_source();
      if (stop.stop_requested()) return;
      cancel = running_.get_token();
    }
    try {
      auto outcome = std::make_shared<Outcome>(run(number, config, cancel));
      QMetaObject::invokeMethod(
          this, [this, outcome] { receive(std::move(*outcome)); }, Qt::QueuedConnection);
    } catch (const Cancelled&) {
    }
  }
}

Planner::Outcome Planner::run(uint64_t number, const RunConfig& config, std::stop_token stop) const {
  Outcome outcome;
  outcome.number = number;
  try {
    outcome.plan = std::make_shared<const Plan>(source_.plan(config, stop));
    for (const ParameterPlan& parameter : outcome.plan->parameters)
      outcome.parameters.push_back({parameter.path, {parameter.shape, parameter.dtype}});
  } catch (const Failure& failure) {
    outcome.errors = failure.errors();
  } catch (const std::exception& fault) {
    outcome.errors.push_back({"internal", fault.what(), "", "this is a fault of the program, not of the run file"});
  }
  if (!outcome.plan) {
    try {
      outcome.parameters = source_.parameters(config);
    } catch (const std::exception&) {
      // The model itself is at fault; its errors are those reported already.
    }
  }
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < outcome.parameters.size(); ++i) index.emplace(join_path(outcome.parameters[i].path), i);
  outcome.index = std::make_shared<const std::unordered_map<std::string, size_t>>(std::move(index));
  return outcome;
}

const ParameterInfo* Planner::find_parameter(const std::vector<std::string>& path) const {
  return find_by_path(parameters_, parameter_index_.get(), path);
}

const ParameterPlan* Planner::find_planned(const std::vector<std::string>& path) const {
  return plan_ ? find_by_path(plan_->parameters, planned_index_.get(), path) : nullptr;
}

void Planner::receive(Outcome outcome) {
  if (outcome.number != requested_) return;
  delivered_ = outcome.number;
  errors_ = std::move(outcome.errors);
  if (outcome.plan) {
    previous_plan_ = std::move(plan_);
    plan_ = std::move(outcome.plan);
    planned_index_ = outcome.index;
  }
  if (!outcome.parameters.empty()) {
    parameters_ = std::move(outcome.parameters);
    parameter_index_ = std::move(outcome.index);
  }
  emit delivered();
}

}  // namespace shardscope
