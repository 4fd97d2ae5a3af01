#include "engine/worker/input_filler.h"

namespace shardscope {

InputFiller::InputFiller(const Plan& plan, int device, const Executor& executor)
    : InputFiller(plan, device, executor, make_data_source(plan.training.data)) {}

InputFiller::InputFiller(const Plan& plan, int device, const Executor& executor, std::unique_ptr<DataSource> source)
    : executor_(executor), source_(std::move(source)), several_(plan.pipeline.shape.microbatches > 1) {
  size_t i = 0;
  for (const auto& [name, graph_value] : plan.graph->inputs) {
    const int id = plan.input_values.at(static_cast<size_t>(executor.stage())).at(i++);
    if (id < 0) continue;
    const ProgramValue& value = plan.program.values.at(id);
    inputs_.push_back({name, shard_box(value.sharding, plan.mesh, value.shape, device), value.shape[0], id});
  }
}

void InputFiller::prepare(int64_t step, const std::function<void()>& on_progress) {
  if (!inputs_.empty()) source_->prepare(step, on_progress);
}

void InputFiller::fill(int64_t step, int microbatch) {
  if (filled_ && !several_ && source_->same_every_step()) return;
  for (const Input& input : inputs_) {
    Box box = input.box;
    box.start[0] += microbatch * input.rows;
    source_->fill(input.name, box, step, executor_.value(input.value, microbatch));
  }
  filled_ = true;
}

}  // namespace shardscope
