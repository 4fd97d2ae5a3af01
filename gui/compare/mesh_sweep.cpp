#include "gui/compare/mesh_sweep.h"

#include "gui/document/edits.h"
#include "gui/document/faults.h"

namespace shardscope {

MeshSweep::MeshSweep(PlanSource source, QObject* parent) : QObject(parent), source_(std::move(source)) {
  connect(this, &MeshSweep::arrived, this, &MeshSweep::receive, Qt::QueuedConnection);
}

MeshSweep::~MeshSweep() { thread_.request_stop(); }

void MeshSweep::start(const RunConfig& config, const std::vector<std::vector<MeshAxis>>& meshes) {
  thread_.request_stop();
  config_ = config;
  meshes_.clear();
  for (const std::vector<MeshAxis>& axes : meshes) meshes_.push_back({axes, {}, 0, {}, {}});
  done_ = 0;
  running_ = true;
  ++number_;
  // The one before ends on the new thread, so that nobody waits for it here.
  thread_ = std::jthread([this, number = number_, config, meshes = meshes_,
                          old = std::move(thread_)](const std::stop_token& stop) mutable {
    if (old.joinable()) old.join();
    work(number, std::move(config), std::move(meshes), stop);
  });
  emit started();
}

void MeshSweep::cancel() {
  if (!running_) return;
  thread_.request_stop();
  ++number_;
  running_ = false;
  emit ended();
}

void MeshSweep::work(uint64_t number, RunConfig config, std::vector<SweptMesh> meshes, const std::stop_token& stop) {
  for (size_t i = 0; i < meshes.size() && !stop.stop_requested(); ++i) {
    try {
      tell({number, static_cast<int>(i), plan(config, std::move(meshes[i]), stop)});
    } catch (const Cancelled&) {
      return;
    }
  }
  tell({number, -1, {}});
}

SweptMesh MeshSweep::plan(const RunConfig& config, SweptMesh mesh, const std::stop_token& stop) const {
  try {
    const Plan planned = source_.plan(with_mesh_axes(config, mesh.axes), stop);
    mesh.totals = planned.totals;
    mesh.collectives = PlanIndex(planned).collectives.size();
    mesh.excess = errors_text(memory_excess(planned));
  } catch (const Failure& failure) {
    mesh.error = errors_text(failure.errors());
  } catch (const std::exception& fault) {
    mesh.error = QString::fromUtf8(fault.what());
  }
  return mesh;
}

void MeshSweep::tell(News news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  emit arrived();
}

void MeshSweep::receive() {
  std::vector<News> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
  }
  for (News& one : news) {
    if (one.number != number_) continue;
    if (one.index < 0) {
      running_ = false;
      emit ended();
      continue;
    }
    meshes_[static_cast<size_t>(one.index)] = std::move(one.mesh);
    ++done_;
    emit planned(one.index);
  }
}

}  // namespace shardscope
