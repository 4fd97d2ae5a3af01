#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "engine/config/run_keys.h"
#include "engine/config/run_types.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

// What a run file with a strategy means where it has no sharding.
ShardingConfig strategy_default() {
  ShardingConfig sharding;
  sharding.mode = LayoutMode::as_written;
  return sharding;
}

// Of the mesh the strategy says all but the order of its devices.
void keep_devices(JsonNode& document, const std::vector<int>& devices, bool all) {
  if (devices.empty() && !all) return document.remove("mesh");
  document.find("mesh")->remove("axes");
}

// Of a pipeline all but the layers of its model chunks.
void keep_layers(JsonNode& document, const PipelineConfig& pipeline, bool all) {
  JsonNode* section = document.find("pipeline");
  if (!section) return;
  if (pipeline.layers.empty() && !all) return document.remove("pipeline");
  for (const char* key : {"axis", "schedule", "chunks"}) section->remove(key);
}

// Without what the strategy says in its place.
void remove_said(JsonNode& document, const RunConfig& rest, bool all) {
  if (!all && rest.sharding == strategy_default()) document.remove("sharding");
  JsonNode* schedule = document.find("schedule");
  const bool is_default = rest.schedule == ScheduleConfig{};
  if (schedule && (is_default || rest.strategy->microbatch_size > 0)) schedule->remove("microbatches");
  if (schedule && (is_default || !rest.strategy->recompute.empty())) schedule->remove("rematerialise");
  keep_devices(document, rest.mesh_devices, all);
  keep_layers(document, rest.pipeline, all);
}

JsonNode document_of(const RunConfig& config, bool all) {
  const std::optional<RunConfig> rest = without_expansion(config);
  RunConfig written = rest.value_or(config);
  if (!rest) written.strategy.reset();
  const bool has_optimizer = !written.optimizer.name.empty();
  if (!has_optimizer) written.optimizer = {};
  JsonNode document = run_type(rest.has_value()).written(written, all);
  if (!has_optimizer) document.remove("optimizer");
  if (rest) remove_said(document, *rest, all);
  return document;
}

}  // namespace

JsonNode to_node(const PartitionSpec& spec_of_array) { return spec().write(spec_of_array); }

JsonNode to_run_document(const RunConfig& config) { return document_of(config, false); }

JsonNode to_whole_run_document(const RunConfig& config) { return document_of(config, true); }

int line_of(const JsonNode& document, const std::string& path) {
  const JsonNode* node = &document;
  for (const PlaceStep& step : split_place(path).value_or(std::vector<PlaceStep>{})) {
    const JsonNode* next = nullptr;
    if (!step.index) next = node->is(JsonNode::Kind::object) ? node->find(step.name) : nullptr;
    if (step.index && node->is(JsonNode::Kind::array) && *step.index < node->items.size()) {
      next = &node->items[*step.index];
    }
    if (!next) break;
    node = next;
  }
  return node->line;
}

}  // namespace shardscope
