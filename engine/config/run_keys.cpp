#include "engine/config/run_keys.h"

#include "engine/base/name_pattern.h"
#include "engine/config/read_specs.h"

namespace shardscope {

namespace {

// Of microbatches, layers and model chunks.
JsonType<int64_t> count() { return integer<int64_t>(1, 4096); }

// A name or a pattern of names, or a list of them, which is the pattern of them all.
JsonType<std::string> names(const std::string& hint) {
  const JsonNode name = text_of_some_length().schema;
  JsonNode schemas = JsonNode::array();
  schemas.items = {
      name, json_object({{"type", JsonNode::of("array")}, {"minItems", JsonNode::of(int64_t{1})}, {"items", name}})};
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) {
            return std::optional(read_names(node, place, faults, hint));
          },
          [](const std::string& names) {
            const std::vector<std::string> list = list_of_pattern(names);
            return list.empty() ? JsonNode::of(names) : json_list(list);
          },
          json_object({{"anyOf", schemas}})};
}

}  // namespace

const JsonType<ScheduleConfig>& schedule_type() {
  static const JsonType<ScheduleConfig> type =
      ObjectKeys<ScheduleConfig>("How a training step runs its batch.", R"(such as {"microbatches": 4})")
          .written("microbatches", &ScheduleConfig::microbatches, count(),
                   "The batch is cut into so many equal parts, which run forward and backward one after the other; "
                   "gradients and metrics add up, and the update runs once. Dropout and losses are those of the whole "
                   "batch.")
          .written(
              "rematerialise", &ScheduleConfig::rematerialise,
              names(
                  R"("none", "full", "attention", "mlp", a pattern of names of ops such as "**/gelu", or a list of these)"),
              "Forward results that backward recomputes instead of keeping: `none`; `full`: all of a layer but "
              "what it passes on; `attention`, `mlp`: these parts of a layer; a pattern of names of ops; or a "
              "list of these, `[\"mlp\", \"**/ln1/**\"]`, which is what any of them names.")
          .written("rematerialised_layers", &ScheduleConfig::rematerialised_layers, count(),
                   "With `full`: so many layers in a row keep only the last one's result.")
          .written("overlap", &ScheduleConfig::overlap,
                   choice<OverlapMode>({{"auto", OverlapMode::automatic}, {"off", OverlapMode::off}}, "mode"),
                   "`auto`: the plan starts collectives earlier and waits for them later where the machine can "
                   "communicate beside computation, the predicted step gets shorter and memory suffices; `off`: one "
                   "after the other. Results are the same bits either way.")
          .type();
  return type;
}

const JsonNode& section_schemas() {
  static const JsonNode schemas = json_object({{"schedule", schedule_type().schema}});
  return schemas;
}

}  // namespace shardscope
