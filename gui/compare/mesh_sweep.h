#pragma once

#include <QObject>
#include <mutex>
#include <thread>

#include "gui/planning/planner.h"

namespace shardscope {

// One mesh, and what its plan is like.
struct SweptMesh {
  std::vector<MeshAxis> axes;
  std::optional<PlanTotals> totals;  // none: not planned yet, or it cannot be
  size_t collectives = 0;
  QString error;   // why it cannot be planned
  QString excess;  // that it does not fit into memory

  bool is_done() const { return totals || !error.isEmpty(); }
};

// Plans one config on many meshes, one after the other on a thread of its own. Of a plan its totals are kept alone.
class MeshSweep : public QObject {
  Q_OBJECT
 public:
  explicit MeshSweep(PlanSource source, QObject* parent = nullptr);
  ~MeshSweep() override;

  // Ends what is running and begins anew.
  void start(const RunConfig& config, const std::vector<std::vector<MeshAxis>>& meshes);
  void cancel();  // what is known stays
  bool is_running() const { return running_; }
  const std::vector<SweptMesh>& meshes() const { return meshes_; }
  int done() const { return done_; }
  // What was planned, the mesh aside.
  const RunConfig& config() const { return config_; }

 signals:
  void started();
  void planned(int index);  // another mesh is known
  void ended();
  void arrived();  // by the thread

 private:
  struct News {
    uint64_t number;
    int index;  // -1: the end
    SweptMesh mesh;
  };
  void work(uint64_t number, RunConfig config, std::vector<SweptMesh> meshes, const std::stop_token& stop);
  void tell(News news);
  void receive();
  SweptMesh plan(const RunConfig& config, SweptMesh mesh, const std::stop_token& stop) const;

  PlanSource source_;
  RunConfig config_;
  std::vector<SweptMesh> meshes_;
  int done_ = 0;
  bool running_ = false;
  uint64_t number_ = 0;  // of the newest start; what is of another is dropped

  std::mutex mutex_;  // guards news_
  std::vector<News> news_;
  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace shardscope
