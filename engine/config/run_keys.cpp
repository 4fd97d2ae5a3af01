#include "engine/config/run_keys.h"

#include <fmt/ranges.h>

#include <limits>

#include "engine/config/run_file_keys.h"
#include "engine/config/run_types.h"

namespace shardscope {

namespace {

JsonType<PrecisionConfig> precision_types() {
  const auto type = [](std::vector<std::string> names) { return one_of(names, "type"); };
  const std::vector<std::string> stored = {"f32", "bf16", "f16"};
  return ObjectKeys<PrecisionConfig>("", R"(such as "bf16_mixed", or {"compute": "bf16"})")
      .optional(
          "compute", &PrecisionConfig::compute, type({"f32", "bf16", "f16", "f8"}),
          "Of operands of matrix products, and of rows on their way to experts; attention, norms, softmax, loss and "
          "residual stream are in f32. Absent: the model's `compute_dtype`, else the `dtype` (or `torch_dtype`) of its "
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

JsonType<int64_t> version() {
  JsonType<int64_t> type = integer<int64_t>(1, std::numeric_limits<int64_t>::max());
  type.read = [read = type.read](const JsonNode& node, const std::string& place, FaultList& faults) {
    const auto version = read(node, place, faults);
    if (version.value_or(1) > run_file::current_version) {
      faults.fail(node.line, place, "newer_version", fmt::format("this run file is of version {}", *version),
                  fmt::format("this program reads versions up to {}; take a newer one", run_file::current_version));
    }
    return version;
  };
  type.schema = integer<int64_t>(1, run_file::current_version).schema;
  return type;
}

JsonType<MeshAxis> mesh_axis() {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  JsonType<int64_t> size = integer<int64_t>(-most - 1, most);  // which ones are legal, Mesh says
  size.schema = integer<int64_t>(1, Mesh::max_devices).schema;
  JsonType<std::string> name = text("a name");
  name.schema = text_of_some_length().schema;
  return ObjectKeys<MeshAxis>("", R"(such as {"name": "data", "size": 4})")
      .required("name", &MeshAxis::name, name, "", R"("data")")
      .required("size", &MeshAxis::size, size, "", "4")
      .type();
}

// A strategy says the axes.
ObjectKeys<RunConfig> mesh_keys(bool has_strategy) {
  JsonType<std::vector<MeshAxis>> axes = list_of(mesh_axis(), 0, "an array");
  axes.schema.add("maxItems", JsonNode::of(int64_t{Mesh::max_axes}));
  JsonType<std::vector<int>> devices = list_of(integer<int>(0, Mesh::max_devices - 1), 0, "an array of device numbers");
  devices.schema.add("uniqueItems", JsonNode::of(true));
  ObjectKeys<RunConfig> keys("The grid of devices.");
  const char* help =
      "Up to 7 axes, outermost first, each with `name` and `size`; required without a strategy. Absent: those of the "
      "strategy.";
  if (has_strategy) keys.optional("axes", &RunConfig::mesh_axes, axes, help);
  else keys.required("axes", &RunConfig::mesh_axes, axes, help, R"([{"name": "data", "size": 4}])");
  return keys.optional(
      "devices", &RunConfig::mesh_devices, devices,
      "The device (rank) at each position of the row-major grid, whose axes are `axes`, or those of the strategy above "
      "1 in its `order`. Absent or empty: 0, 1, 2 and so on.");
}

JsonType<LintConfig> lint() {
  using Entry = std::pair<std::string, std::string>;
  constexpr const char* hint = R"(such as {"off": {"bubble": "the batch is fixed"}})";
  const auto reason = some_text("a reason", "the reason is empty", "say why the rule does not hold here");
  return ObjectKeys<LintConfig>("What `shardrun lint` leaves out for this run.", hint)
      .optional("off", &LintConfig::off, entries_of(&Entry::first, &Entry::second, reason, "rules with reasons", hint),
                "Rules of [lint](lint.md) that are turned off, each with the reason, which is shown.")
      .type();
}

// Without a strategy mesh and sharding are required.
ObjectKeys<RunConfig> run_keys(bool has_strategy) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  ObjectKeys<RunConfig> keys("Everything that one training run needs: model, mesh, sharding, data, optimizer.",
                             "a run file is {\"model\": ..., \"mesh\": ..., ...}");
  keys.unkept("version", version(), "Of the format of run files. `shardrun upgrade` writes the current one. Absent: 1.")
      .required("model", &RunConfig::model, options("name", "model", "The network and its options."), "",
                R"({"name": "decoder_only_transformer", ...})")
      .optional("strategy", &RunConfig::strategy, optional_of(strategy_type()), "")
      .inner("mesh", mesh_keys(has_strategy), !has_strategy, R"({"axes": [{"name": "data", "size": 4}]})");
  if (has_strategy) {
    // Absent it means another mode than that of a new ShardingConfig.
    keys.written("sharding", &RunConfig::sharding, sharding_type(), "");
  } else {
    keys.required("sharding", &RunConfig::sharding, sharding_type(), "",
                  R"({"in": ["data", null], "parameters": {...}})");
  }
  return keys
      .required("data", &RunConfig::data, options("kind", "data source", "The data source and its options."), "",
                R"({"kind": "synthetic_lm", ...})")
      .optional(
          "optimizer", &RunConfig::optimizer,
          options("name", "optimizer", "The optimizer and its options. Absent: the run is the forward pass alone."), "")
      .optional("precision", &RunConfig::precision, precision_type(), "")
      .optional("schedule", &RunConfig::schedule, schedule_type(), "")
      .optional("pipeline", &RunConfig::pipeline, pipeline_type(has_strategy), "")
      .optional("lint", &RunConfig::lint, lint(), "")
      .optional("machine", &RunConfig::machine,
                named("a machine", R"(such as "host", a machine's file, or {"name": "host", "levels": {...}})",
                      run_file::this_host),
                "What the run is planned for: `host` (this host, as calibrated), a machine of the library, a machine's "
                "file; an object that names one of these and gives some numbers of its own, levels by their names; or "
                "a machine as in a machine file.")
      .optional(
          "stack", &RunConfig::stack,
          named("a software stack", R"(such as "megatron", or {"name": "megatron", "attention": {"kernel": "scores"}})",
                run_file::this_stack),
          "The software that runs the plan on its machine, for predictions: `shardscope` (this program), "
          "`megatron`, `nanotron`, `nanotron_2024` (of July 2024), `torchtitan`, `llm_foundry`, `maxtext`; or an "
          "object that names one of these "
          "and gives some values of its own.")
      .optional("hosts", &RunConfig::hosts, text("a list of hosts", R"(such as "h0:4,h1:4")"),
                "Hosts of the ranks, in order, with how many each takes: `h0:4,h1:4`. Absent: this host alone.")
      .required("seed", &RunConfig::seed, integer<int64_t>(0, most),
                "Initial weights and dropout masks follow from this number alone.", "0")
      .required("steps", &RunConfig::steps, integer<int64_t>(1, most), "Training steps.", "10")
      .written("deterministic", &RunConfig::deterministic, flag(), "Without dropout.");
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
                   "Equal parts of the batch that run forward and backward one after the other; gradients and metrics "
                   "add up, and the update runs once. Dropout and losses are those of the whole batch.")
          .written(
              "rematerialise", &ScheduleConfig::rematerialise,
              names(fmt::format(R"("{}", a pattern of names of ops such as "**/gelu", or a list of these)",
                                fmt::join(run_file::rematerialise_policies(), R"(", ")"))),
              "Forward results that backward recomputes instead of keeping: `none`; `full`: all of a layer but "
              "what it passes on; `mlp`: that part of a layer; `attention`: scores, mask, softmax and weighted sum "
              "alone, of queries, keys and values that are kept, as Megatron's selective recomputation (saves memory "
              "where scores are kept: [stacks](predictions.md#what-a-stack-says) with that kernel); a pattern of "
              "names of ops; or a list of these, `[\"mlp\", \"**/ln1/**\"]`, which is what any of them names.")
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

namespace {

// A strategy names the axis.
ObjectKeys<PipelineConfig> pipeline_keys(bool has_strategy) {
  ObjectKeys<PipelineConfig> keys(
      "A mesh axis whose devices are stages: each holds model chunks of the network's layers, through which "
      "microbatches pass.",
      R"(such as {"axis": "pipeline"})");
  const char* help = "The mesh axis; empty: no pipeline. Beside a strategy it may be absent.";
  if (has_strategy) keys.optional("axis", &PipelineConfig::axis, text("a mesh axis"), help);
  else keys.required("axis", &PipelineConfig::axis, text("a mesh axis"), help, R"("pipeline")");
  return keys
      .written("schedule", &PipelineConfig::schedule,
               text("a schedule", R"(such as "1f1b")", {"gpipe", "1f1b", "interleaved", "zero_bubble"}),
               "In which order a stage does forward and backward of its microbatches. The backward of "
               "`zero_bubble` is split into that of inputs and that of weights.")
      .written("chunks", &PipelineConfig::chunks, count(),
               "Model chunks of each stage; more than one with `interleaved`.")
      .written("layers", &PipelineConfig::layers, list_of(count(), 0, "numbers of layers", "such as [2, 2]"),
               "Layers of each model chunk, in the network's order. Absent or empty: such that the slowest stage "
               "is fast.");
}

}  // namespace

const JsonType<PipelineConfig>& pipeline_type(bool has_strategy) {
  static const JsonType<PipelineConfig> types[] = {pipeline_keys(false).type(), pipeline_keys(true).type()};
  return types[has_strategy];
}

const JsonType<RunConfig>& run_type(bool has_strategy) {
  static const JsonType<RunConfig> types[] = {run_keys(false).type(), run_keys(true).type()};
  return types[has_strategy];
}

JsonNode run_schema() {
  JsonNode schema = json_object({{"$schema", JsonNode::of("https://json-schema.org/draft/2020-12/schema")},
                                 {"title", JsonNode::of("Shardscope run file")}});
  const JsonNode& keys = run_type(true).schema;
  for (size_t i = 0; i < keys.keys.size(); ++i) schema.add(keys.keys[i], keys.items[i]);
  const auto required = [](const std::vector<std::string>& names) {
    return json_object({{"required", json_list(names)}});
  };
  JsonNode without_strategy = required({"mesh", "sharding"});
  without_strategy.add("properties", json_object({{"mesh", required({"axes"})}, {"pipeline", required({"axis"})}}));
  const JsonNode either_of = any_of({required({"strategy"}), without_strategy});
  schema.add("anyOf", either_of.items[0]);
  schema.add("$defs", definitions());
  return schema;
}

}  // namespace shardscope
