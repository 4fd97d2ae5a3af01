#pragma once

#include <QObject>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/compile/compile.h"

namespace shardscope {

// Where plans come from: compile() in the program, made up ones in tests. Both may throw Failure; `plan` throws
// Cancelled when asked to stop.
struct PlanSource {
  std::function<Plan(const RunConfig&, std::stop_token)> plan;
  std::function<std::vector<ParameterInfo>(const RunConfig&)> parameters;
};
PlanSource compiled_plans();

// Plans in the background, on one thread. The newest request wins: an older one is cancelled, and what it may still
// deliver is dropped by its number. When a config cannot be planned, the last good plan stays and its errors are kept
// beside it.
class Planner : public QObject {
  Q_OBJECT
 public:
  explicit Planner(PlanSource source, QObject* parent = nullptr);
  ~Planner() override;

  void request(const RunConfig& config);
  const PlanSource& source() const { return source_; }

  bool is_busy() const { return delivered_ != requested_; }
  // The last good plan; none before the first.
  std::shared_ptr<const Plan> plan() const { return plan_; }
  // The one before it, for "what did this edit change".
  std::shared_ptr<const Plan> previous_plan() const { return previous_plan_; }
  // False while the config differs from the one that plan() is of: it is being planned, or has errors.
  bool is_current() const { return plan_ && !is_busy() && errors_.empty(); }
  const std::vector<Error>& errors() const { return errors_; }
  // Parameters of the newest config's model; of the last good one when it has none.
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  // By path; null where parameters(), or plan(), has none.
  const ParameterInfo* find_parameter(const std::vector<std::string>& path) const;
  const ParameterPlan* find_planned(const std::vector<std::string>& path) const;

 signals:
  void requested();
  void delivered();  // plan, errors or both changed

 private:
  using PathIndex = std::shared_ptr<const std::unordered_map<std::string, size_t>>;  // made in the background

  struct Outcome {
    uint64_t number = 0;
    std::shared_ptr<const Plan> plan;
    std::vector<Error> errors;
    std::vector<ParameterInfo> parameters;  // in a plan's order where there is one
    PathIndex index;
  };

  void work(std::stop_token stop);
  Outcome run(uint64_t number, const RunConfig& config, std::stop_token stop) const;
  void receive(Outcome outcome);

  PlanSource source_;
  std::shared_ptr<const Plan> plan_, previous_plan_;
  std::vector<Error> errors_;
  std::vector<ParameterInfo> parameters_;
  PathIndex parameter_index_, planned_index_;
  uint64_t requested_ = 0;
  uint64_t delivered_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wake_;
  std::optional<RunConfig> waiting_;
  uint64_t waiting_number_ = 0;
  std::stop_source running_;

  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace shardscope
