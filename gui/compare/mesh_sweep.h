#pragma once

#include <QObject>

#include "gui/background/background.h"
#include "gui/planning/planner.h"

namespace shardscope {

// One mesh, and what its plan is like.
struct SweptMesh {
  std::vector<MeshAxis> axes;
  std::optional<PlanTotals> totals;  // none: not planned yet, or it cannot be
  int64_t collectives = 0;           // of a training step: exchanges()
  QString error;                     // why it cannot be planned
  QString excess;                    // that it does not fit into memory

  bool is_done() const { return totals || !error.isEmpty(); }
};

// Plans one config on many meshes, one after the other on a thread of its own. Of a plan its totals are kept alone.
class MeshSweep : public QObject {
  Q_OBJECT
 public:
  explicit MeshSweep(PlanSource source, QObject* parent = nullptr);

  // Ends what is running and begins anew.
  void start(const RunConfig& config, const std::vector<std::vector<MeshAxis>>& meshes);
  void cancel();  // what is known stays
  void forget();  // of a document that is another one now
  bool is_running() const { return running_; }
  const std::vector<SweptMesh>& meshes() const { return meshes_; }
  int done() const { return done_; }
  // What was planned, the mesh aside.
  const RunConfig& config() const { return config_; }

 signals:
  void started();
  void planned(int index);  // another mesh is known
  void ended();

 private:
  void next();
  void take(SweptMesh mesh);

  PlanSource source_;
  RunConfig config_;
  std::vector<SweptMesh> meshes_;
  int done_ = 0;
  bool running_ = false;
  WorkerThreads thread_{1};
  Background<SweptMesh> job_;
};

}  // namespace shardscope
