#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/run_keys.h"
#include "engine/config/run_types.h"
#include "engine/config/strategy.h"

namespace shardscope {

namespace {

JsonType<std::vector<std::string>> order() {
  JsonType<std::vector<std::string>> type =
      list_of(one_of(default_order(), "axis"), 0, "an array of axes", R"(such as ["pipeline", "data", "tensor"])");
  type.read = [read = type.read](const JsonNode& node, const std::string& place, FaultList& faults) {
    const auto axes = read(node, place, faults);
    for (size_t i = 0; axes && i < axes->size(); ++i) {
      const std::string& axis = (*axes)[i];
      const auto here = axes->begin() + static_cast<std::ptrdiff_t>(i);
      if (axis.empty() || std::find(axes->begin(), here, axis) == here) continue;
      faults.fail(node.items[i].line, element_place(place, i), "duplicate_axis",
                  fmt::format("'{}' is named twice", axis), "each axis once, outermost first");
    }
    return axes;
  };
  type.schema.add("uniqueItems", JsonNode::of(true));
  return type;
}

}  // namespace

const JsonType<StrategyConfig>& strategy_type() {
  const auto degree = [] { return integer<int64_t>(1, Mesh::max_devices); };
  static const JsonType<StrategyConfig> type =
      ObjectKeys<StrategyConfig>(
          "How the model is split, by the usual numbers, in place of mesh, sharding and pipeline.",
          R"(such as {"data": 4, "tensor": 2})")
          .optional("data", &StrategyConfig::data, degree(), "Replicas.")
          .optional("fsdp", &StrategyConfig::fsdp, degree(),
                    "Replicas that share parameters, gradients and optimizer state, as FSDP and ZeRO stage 3; not "
                    "together with `zero`.")
          .optional("tensor", &StrategyConfig::tensor, degree(),
                    "Megatron's tensor parallelism; divides the heads and the width of feed-forward layers.")
          .optional("pipeline", &StrategyConfig::pipeline, degree(), "Stages.")
          .optional("virtual_stages", &StrategyConfig::virtual_stages, count(), "Model chunks of each stage.")
          .optional("pipeline_schedule", &StrategyConfig::pipeline_schedule, text("a schedule", R"(such as "1f1b")"),
                    "As `pipeline.schedule`; `1f1b` with virtual stages is `interleaved`.")
          .optional("context", &StrategyConfig::context, degree(), "Parts of a sequence.")
          .optional("expert", &StrategyConfig::expert, degree(),
                    "Parts of the list of experts; tokens are split over them, too.")
          .optional("sequence_parallel", &StrategyConfig::sequence_parallel, flag(),
                    "Activations between tensor-parallel blocks are split along the length.")
          .optional("zero", &StrategyConfig::zero, integer<int64_t>(0, 3),
                    "ZeRO stage over `data`, `expert` and `context`, which have the same parameters.")
          .optional("microbatch_size", &StrategyConfig::microbatch_size, integer<int64_t>(0, 10'000'000),
                    "Sequences of one replica at a time, in place of `schedule.microbatches`; 0: all at once, or as "
                    "that key says.")
          .optional(
              "recompute", &StrategyConfig::recompute,
              names(fmt::format(R"("{}", a pattern of names of ops such as "**/gelu", or a list of these)",
                                fmt::join(recompute_policies(), R"(", ")"))),
              "`none`, `selective` (attention's scores), `full`, or what `schedule.rematerialise` takes. Absent: as "
              "`schedule.rematerialise`.")
          .optional("order", &StrategyConfig::order, order(),
                    "The mesh axes above 1, outermost first. Absent or empty: `pipeline`, `data`, `fsdp`, `expert`, "
                    "`context`, `tensor`.")
          .type();
  return type;
}

}  // namespace shardscope
