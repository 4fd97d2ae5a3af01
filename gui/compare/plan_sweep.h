#pragma once

#include <QObject>
#include <vector>

#include "gui/background/background.h"
#include "gui/compare/plan_quantities.h"
#include "gui/planning/planner.h"

namespace shardscope {

// A config, and what its plan is like.
struct SweptPlan {
  RunConfig config;
  std::optional<PlanFacts> facts;    // none: not planned yet, or it cannot be
  std::vector<ExposedAxes> exposed;  // with `facts`: most_exposed_by_axes()
  QString error;                     // why it cannot be planned
  QString excess;                    // that it does not fit into memory

  bool fits() const { return facts && excess.isEmpty(); }
  bool is_done() const { return facts || !error.isEmpty(); }
};

// Plans configs, one after the other on a thread of its own. Of a plan its facts are kept alone.
class PlanSweep : public QObject {
  Q_OBJECT
 public:
  explicit PlanSweep(PlanSource source, QObject* parent = nullptr);

  // Ends what is running and begins anew.
  void start(std::vector<RunConfig> configs);
  // Of these, too, those that are not known yet.
  void go_through(std::vector<SweptPlan> plans);
  void cancel();  // what is known stays
  void forget();  // of a document that is another one now
  bool is_running() const { return running_; }
  const std::vector<SweptPlan>& plans() const { return plans_; }
  int done() const;  // how many are known

 signals:
  void started();
  void planned(int index);  // another plan is known
  void ended();

 private:
  void next();
  void take(SweptPlan plan);

  PlanSource source_;
  std::vector<SweptPlan> plans_;
  size_t at_ = 0;  // is planned
  bool running_ = false;
  WorkerThreads thread_{1};
  Background<SweptPlan> job_;
};

}  // namespace shardscope
