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

JsonType<std::string> one_of(const std::vector<std::string>& names, const char* what) {
  Choices<std::string> choices;
  for (const std::string& name : names) choices.emplace_back(name, name);
  return choice(choices, what);
}

JsonType<PrecisionConfig> precision_types() {
  const auto type = [](std::vector<std::string> names) { return one_of(names, "type"); };
  const std::vector<std::string> stored = {"f32", "bf16", "f16"};
  return ObjectKeys<PrecisionConfig>("", R"(such as "bf16_mixed", or {"compute": "bf16"})")
      .optional("compute", &PrecisionConfig::compute, type({"f32", "bf16", "f16", "f8"}),
                "Of operands of matrix products; attention, kernels of experts, norms, softmax, loss and residual "
                "stream are in f32. Absent: the model's `compute_dtype`, else the `dtype` (or `torch_dtype`) of its "
                "config.json, else `f32`.")
      .optional("parameters", &PrecisionConfig::parameters, type(stored),
                "Of parameters as they are stored and gathered. Absent: `f32`.")
      .optional("master", &PrecisionConfig::master, type({"f32", "none"}),
                "Of a copy of each parameter that the optimizer updates; the parameter is its rounded value. Absent: "
                "`none`.")
      .optional("gradients", &PrecisionConfig::gradients, type(stored),
                "Of gradients, also while they add up over microbatches. Absent: that of `parameters`.")
      .optional("reduction", &PrecisionConfig::reduction, type(stored),
                "In which products give gradients of parameters, and in which these are summed over devices: `f32` "
                "(sums of products are not rounded) or the type of the products' results. Absent: that of `compute` "
                "(`bf16` where that is `f8`).")
      .optional("moments", &PrecisionConfig::moments, type(stored),
                "Of the optimizer's state. Absent: that of `master`, else of `parameters`.")
      .type();
}

}  // namespace

const JsonType<PrecisionConfig>& precision_type() {
  static const JsonType<PrecisionConfig> type = [] {
    const JsonType<std::string> recipe = one_of({"f32", "bf16", "bf16_mixed", "f16_mixed", "fp8_mixed"}, "recipe");
    JsonType<PrecisionConfig> either_of =
        either<PrecisionConfig>(only(&PrecisionConfig::recipe, recipe), precision_types(), JsonNode::Kind::string,
                                [](const PrecisionConfig& precision) { return !precision.recipe.empty(); });
    either_of.schema = with_help(
        "Types of the arrays of a training: a recipe, or types by what has them. `f16_mixed`, `fp8_mixed`, `f16` and "
        "`f8` are planned, and not trained.",
        either_of.schema);
    return either_of;
  }();
  return type;
}

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

const JsonType<PipelineConfig>& pipeline_type() {
  static const JsonType<PipelineConfig> type =
      ObjectKeys<PipelineConfig>(
          "A mesh axis whose devices are stages: each holds model chunks of the network's layers, through which "
          "microbatches pass.",
          R"(such as {"axis": "pipeline"})")
          .required("axis", &PipelineConfig::axis, text("a mesh axis"), "The mesh axis; empty: no pipeline.",
                    R"("pipeline")")
          .written("schedule", &PipelineConfig::schedule,
                   text("a schedule", R"(such as "1f1b")", {"gpipe", "1f1b", "interleaved", "zero_bubble"}),
                   "In which order a stage does forward and backward of its microbatches. The backward of "
                   "`zero_bubble` is split into that of inputs and that of weights.")
          .written("chunks", &PipelineConfig::chunks, count(),
                   "Model chunks of each stage; more than one with `interleaved`.")
          .written("layers", &PipelineConfig::layers, list_of(count(), 0, "numbers of layers", "such as [2, 2]"),
                   "Layers of each model chunk, in the network's order. Absent or empty: such that the slowest stage "
                   "is fast.")
          .type();
  return type;
}

const JsonType<ZeroConfig>& zero_type() {
  static const JsonType<ZeroConfig> type =
      ObjectKeys<ZeroConfig>(
          "ZeRO, on top of what the specs say: what data parallelism keeps on every device is split over a mesh axis.",
          R"(such as {"stage": 1, "axis": "data"})")
          .required("stage", &ZeroConfig::stage, integer<int64_t>(0, 3),
                    "1: optimizer state; 2: and gradients; 3: and parameters, which are gathered before each use and "
                    "dropped after it.",
                    "1")
          .optional("axis", &ZeroConfig::axis, text("a mesh axis"), "Absent or empty: the first axis of the mesh.")
          .type();
  return type;
}

const JsonNode& section_schemas() {
  static const JsonNode schemas = json_object({{"precision", precision_type().schema},
                                               {"schedule", schedule_type().schema},
                                               {"pipeline", pipeline_type().schema}});
  return schemas;
}

}  // namespace shardscope
