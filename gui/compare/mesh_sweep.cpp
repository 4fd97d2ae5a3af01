#include "gui/compare/mesh_sweep.h"

#include <utility>

#include "gui/document/edits.h"
#include "gui/document/faults.h"

namespace shardscope {
namespace {

SweptMesh plan_of(const PlanSource& source, const RunConfig& config, SweptMesh mesh, const std::stop_token& stop) {
  try {
    const Plan plan = source.plan(with_mesh_axes(config, mesh.axes), stop);
    mesh.totals = plan.totals;
    mesh.collectives = exchanges(plan);
    mesh.excess = errors_text(memory_excess(plan));
  } catch (const Failure& failure) {
    mesh.error = errors_text(failure.errors());
  } catch (const Cancelled&) {
    // Nobody takes it.
  } catch (const std::exception& fault) {
    mesh.error = QString::fromUtf8(fault.what());
  }
  return mesh;
}

}  // namespace

MeshSweep::MeshSweep(PlanSource source, QObject* parent)
    : QObject(parent), source_(std::move(source)), job_([this](SweptMesh mesh) { take(std::move(mesh)); }, thread_) {}

void MeshSweep::start(const RunConfig& config, const std::vector<std::vector<MeshAxis>>& meshes) {
  config_ = config;
  meshes_.clear();
  for (const std::vector<MeshAxis>& axes : meshes) meshes_.push_back({axes, {}, 0, {}, {}});
  done_ = 0;
  running_ = true;
  emit started();
  next();
}

void MeshSweep::cancel() {
  if (!running_) return;
  job_.cancel();
  running_ = false;
  emit ended();
}

void MeshSweep::forget() {
  job_.cancel();
  running_ = false;
  meshes_.clear();
  done_ = 0;
  emit started();
  emit ended();
}

void MeshSweep::next() {
  if (done_ < std::ssize(meshes_)) {
    job_.make([source = source_, config = config_, mesh = meshes_[static_cast<size_t>(done_)]](
                  const std::stop_token& stop) { return plan_of(source, config, mesh, stop); });
  } else {
    running_ = false;
    emit ended();
  }
}

void MeshSweep::take(SweptMesh mesh) {
  meshes_[static_cast<size_t>(done_++)] = std::move(mesh);
  emit planned(done_ - 1);
  if (running_) next();
}

}  // namespace shardscope
