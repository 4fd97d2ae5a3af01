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
#include "gui/planning/plan_index.h"

namespace shardscope {

// Where plans come from: compile() in the program, made up ones in tests. Both may throw Failure; `plan` throws
// Cancelled when asked to stop. `check` gives the errors that `plan` would throw; without it `plan` is asked.
struct PlanSource {
  std::function<Plan(const RunConfig&, std::stop_token)> plan;
  std::function<std::vector<ParameterInfo>(const RunConfig&)> parameters;
  std::function<std::vector<Error>(const RunConfig&)> check = nullptr;
};
PlanSource compiled_plans();

// Plans in the background, on one thread. The newest request wins: an older one is cancelled, and what it may still
// deliver is dropped by its number. When a config cannot be planned, the last good plan of the same file stays and its
// errors are kept beside it.
class Planner : public QObject {
  Q_OBJECT
 public:
  explicit Planner(PlanSource source, QObject* parent = nullptr);
  ~Planner() override;

  void request(std::shared_ptr<const RunConfig> config);
  void request(const RunConfig& config) { request(std::make_shared<const RunConfig>(config)); }
  // For another file, before it is requested: of the plan, its errors and the model nothing stays.
  void forget();
  const PlanSource& source() const { return source_; }

  bool is_busy() const { return delivered_ != requested_; }
  // The last good plan of this file; none before the first.
  std::shared_ptr<const Plan> plan() const { return plan_; }
  const PlanIndex& index() const { return *index_; }                        // of plan(); empty without
  std::shared_ptr<const PlanIndex> shared_index() const { return index_; }  // for who keeps plan() beyond delivered()
  // Of the one before it, for "what did this edit change".
  const std::optional<PlanTotals>& previous_totals() const { return previous_totals_; }
  // False while the config differs from the one that plan() is of: it is being planned, or has errors.
  bool is_current() const { return plan_ && !is_busy() && errors_.empty(); }
  const std::vector<Error>& errors() const { return errors_; }
  // Parameters of the newest config's model; of the last good one when it has none.
  const std::vector<ParameterInfo>& parameters() const { return model_->parameters; }
  // The same object as long as the model has the same parameters.
  std::shared_ptr<const ModelIndex> model() const { return model_; }
  // By path; null where parameters(), or plan(), has none.
  const ParameterInfo* find_parameter(const std::vector<std::string>& path) const;
  const ParameterPlan* find_planned(const std::vector<std::string>& path) const;

 signals:
  void requested();
  void delivered();  // plan, errors or both have changed
  void finished();   // by the thread: there is an outcome

 private:
  struct Outcome {
    uint64_t number = 0;
    std::shared_ptr<const Plan> plan;  // with its index, or none of both
    std::shared_ptr<const PlanIndex> index;
    std::vector<Error> errors;
    std::shared_ptr<const ModelIndex> model;  // none where the model itself has errors
  };

  void work(std::stop_token stop);
  Outcome run(uint64_t number, const RunConfig& config, std::stop_token stop);
  void receive();

  PlanSource source_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const PlanIndex> index_ = std::make_shared<const PlanIndex>();
  std::optional<PlanTotals> previous_totals_;
  std::vector<Error> errors_;
  std::shared_ptr<const ModelIndex> model_ = std::make_shared<const ModelIndex>();
  uint64_t requested_ = 0;
  uint64_t delivered_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wake_;
  std::shared_ptr<const RunConfig> waiting_;
  uint64_t waiting_number_ = 0;
  std::stop_source running_;
  std::optional<Outcome> outcome_;  // not received yet

  std::shared_ptr<const ModelIndex> last_model_;  // of the thread

  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace shardscope
