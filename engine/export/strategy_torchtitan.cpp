#include <fmt/format.h>

#include "engine/base/plural.h"
#include "engine/config/strategy.h"
#include "engine/export/portable_model.h"
#include "engine/export/strategy_format.h"
#include "engine/export/strategy_settings.h"

namespace shardscope {

namespace {

// torchtitan's JobConfig (torchtitan/config/job_config.py) as TOML, which versions from 0.3 on do not read. Its mesh is
// pp, dp_replicate, dp_shard, cp, tp, outermost first; experts are split over devices of dp_shard. Its tensor
// parallelism is sequence parallel. Data parallelism without shards is one without ZeRO, and has no other axis beside
// it. Shards lie over the devices of experts and of context as well: with these there is ZeRO 3 over all or nothing.
constexpr const char* first_stage_less = "pipeline_parallel_first_stage_less_layers";
constexpr const char* last_stage_less = "pipeline_parallel_last_stage_less_layers";

int64_t layers_of_a_stage(const PortableStrategy& portable) {
  const int64_t stages = portable.strategy.pipeline * portable.strategy.virtual_stages;
  return (portable.layers + stages - 1) / stages;
}

WrittenStrategy write_torchtitan(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  UnsaidStrategy unsaid("torchtitan");
  const bool has_shared = s.expert * s.context > 1;
  unsaid.refuse(s.zero == 1 || s.zero == 2, "zero", "splits parameters where it splits optimizer state",
                has_shared ? "3" : "fsdp in place of data and zero");
  unsaid.refuse_replicas_within(s);
  unsaid.refuse(s.data > 1 && s.fsdp == 1 && !has_shared && s.tensor * s.pipeline > 1, "data",
                "has no other parallelism beside replicas that share nothing", "fsdp in place of data");
  unsaid.refuse(s.tensor > 1 && !s.sequence_parallel, "sequence_parallel",
                "splits activations along the length where it splits tensors", "true");
  unsaid.refuse(!s.order.empty(), "order", "has an order of its own", "leave it out");
  unsaid.refuse(s.pipeline_schedule != "1f1b" && s.pipeline_schedule != "gpipe", "pipeline_schedule",
                fmt::format("has no schedule '{}' of one chunk for each stage", s.pipeline_schedule), "1f1b or gpipe");
  unsaid.refuse(s.virtual_stages > 1 && portable.layers % (s.pipeline * s.virtual_stages) != 0, "virtual_stages",
                fmt::format("cuts {} into stages of equally many", counted(portable.layers, "layer")), "a divisor");
  unsaid.refuse(s.recompute != "none" && s.recompute != "selective" && s.recompute != "full", "recompute",
                "recomputes no patterns of ops", "none, selective or full");
  unsaid.finish();
  const bool piped = s.pipeline > 1;
  const int64_t of_a_replica = portable.batch_size / s.replicas();
  std::string text = fmt::format("# torchrun on {}\n[training]\n", counted(s.devices(), "device"));
  text += fmt::format("local_batch_size = {}\nglobal_batch_size = {}\n\n", piped ? of_a_replica : s.microbatch_size,
                      portable.batch_size);
  text += fmt::format(
      "[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\ncontext_parallel_degree = {}\nexpert_parallel_degree = {}\n"
      "pipeline_parallel_degree = {}\n",
      s.zero == 3 ? 1 : s.data, (s.zero == 3 ? s.data : s.fsdp) * s.expert, s.tensor, s.context, s.expert, s.pipeline);
  if (s.expert > 1 && s.tensor > 1) text += fmt::format("expert_tensor_parallel_degree = {}\n", s.tensor);
  if (piped) {
    const char* schedule = s.virtual_stages > 1 ? "Interleaved1F1B" : s.pipeline_schedule == "gpipe" ? "GPipe" : "1F1B";
    text += fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n", schedule,
                        s.microbatch_size);
    text += fmt::format("{} = 0\n{} = 0\n", first_stage_less, last_stage_less);
    if (s.virtual_stages > 1)
      text += fmt::format("pipeline_parallel_layers_per_stage = {}\n", layers_of_a_stage(portable));
  }
  text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", s.recompute);
  if (s.recompute == "selective") text += "selective_ac_option = \"op\"\n";
  return {text, note_of_experts(s), layers_of_equal_chunks(portable.layers, s.pipeline * s.virtual_stages)};
}

// Of each rank; embedding and output count as so many layers each.
int64_t virtual_stages(StrategySettings& settings, int64_t pipeline, int64_t layers) {
  const std::string parallelism = "parallelism.", key = parallelism + "pipeline_parallel_layers_per_stage";
  const int64_t ends =
      settings.integer(parallelism + first_stage_less, 1, 0) + settings.integer(parallelism + last_stage_less, 1, 0);
  if (!settings.has(key)) return 2;
  const int64_t of_a_stage = settings.integer(key, 1);
  const int64_t stages = (layers + ends + of_a_stage - 1) / of_a_stage;
  if (layers > 0 && stages % pipeline == 0 && stages >= 2 * pipeline) return stages / pipeline;
  settings.fail(key,
                fmt::format("{} with {} for embedding and output are {}, no multiple of {} above it",
                            counted(layers, "layer"), ends, counted(stages, "stage"), pipeline),
                "layers of each stage");
  return 2;
}

PortableStrategy read_torchtitan(const std::string& text, const std::string& file, int64_t devices, int64_t layers) {
  StrategySettings settings = torchtitan_settings(text, file);
  PortableStrategy result;
  result.layers = layers;
  StrategyConfig& s = result.strategy;
  const std::string parallelism = "parallelism.";
  s.data = settings.integer(parallelism + "data_parallel_replicate_degree", 1);
  s.tensor = settings.integer(parallelism + "tensor_parallel_degree", 1);
  s.context = settings.integer(parallelism + "context_parallel_degree", 1);
  s.expert = settings.integer(parallelism + "expert_parallel_degree", 1);
  s.pipeline = settings.integer(parallelism + "pipeline_parallel_degree", 1);
  s.sequence_parallel = s.tensor > 1;
  const std::string shard_key = parallelism + "data_parallel_shard_degree";
  int64_t shards = settings.text(shard_key, "-1") == "-1" ? 0 : settings.integer(shard_key, 1);
  if (shards == 0) {
    const int64_t others = s.data * s.tensor * s.context * s.pipeline;
    if (devices == 0 || devices % others != 0) {
      settings.fail(shard_key, "all devices that are left, and these are not known", "--devices N, a multiple");
    }
    shards = std::max<int64_t>(1, devices / others);
  } else if (const int64_t given = s.data * shards * s.tensor * s.context * s.pipeline;
             devices > 0 && given != devices) {
    settings.fail(shard_key, fmt::format("the degrees make {}, of {}", counted(given, "device"), devices),
                  fmt::format("-1, or --devices {}", given));
  }
  if (shards % s.expert != 0)
    settings.fail(parallelism + "expert_parallel_degree", fmt::format("does not divide {}", counted(shards, "shard")),
                  "");
  const int64_t replicas = std::max<int64_t>(1, shards / s.expert);
  if (s.expert * s.context == 1) {
    s.fsdp = replicas;
  } else if (s.data == 1) {
    s.data = replicas;
    s.zero = 3;
  } else {
    settings.fail(parallelism + "data_parallel_replicate_degree",
                  "parameters are split over the devices of experts and of context, but not over all replicas", "1");
  }
  const std::string of_experts = parallelism + "expert_tensor_parallel_degree";
  if (s.expert > 1 && settings.integer(of_experts, 1) != s.tensor)
    settings.fail(settings.has(of_experts) ? of_experts : parallelism + "expert_parallel_degree",
                  "experts are split otherwise than the rest",
                  fmt::format("expert_tensor_parallel_degree = {}", s.tensor));
  const std::string schedule = settings.text(parallelism + "pipeline_parallel_schedule", "1F1B");
  if (schedule == "GPipe" && s.pipeline > 1) s.pipeline_schedule = "gpipe";
  else if (schedule != "1F1B" && schedule != "Interleaved1F1B" && s.pipeline > 1)
    settings.fail(parallelism + "pipeline_parallel_schedule", fmt::format("there is no '{}'", schedule),
                  "1F1B, Interleaved1F1B or GPipe");
  if (s.pipeline > 1 && schedule == "Interleaved1F1B") s.virtual_stages = virtual_stages(settings, s.pipeline, layers);
  const int64_t local = settings.integer("training.local_batch_size", 8);
  const std::string global_key = "training.global_batch_size";
  result.batch_size = settings.text(global_key, "-1") == "-1" ? local * s.replicas() : settings.integer(global_key, 1);
  s.microbatch_size = s.pipeline > 1 ? settings.integer(parallelism + "pipeline_parallel_microbatch_size", 1) : local;
  s.recompute = settings.text("activation_checkpoint.mode", "selective");
  if (s.recompute != "none" && s.recompute != "selective" && s.recompute != "full")
    settings.fail("activation_checkpoint.mode", fmt::format("there is no '{}'", s.recompute), "none, selective, full");
  const std::string option = "activation_checkpoint.selective_ac_option";
  if (s.recompute == "selective" && settings.text(option, "2") != "op")
    settings.fail(
        settings.has(option) ? option : "activation_checkpoint.mode",
        fmt::format("'{}' recomputes every so many layers whole, and a strategy all alike", settings.text(option, "2")),
        "selective_ac_option = \"op\", or mode full");
  for (const char* key : {"module_fqns_per_model_part", "pipeline_parallel_schedule_csv"}) {
    if (s.pipeline > 1 && !settings.text(parallelism + key, "").empty())
      settings.fail(parallelism + key, "a strategy does not say what a stage has, or in which order", "leave it out");
  }
  settings.finish();
  return result;
}

}  // namespace

StrategySettings torchtitan_settings(const std::string& text, const std::string& file) {
  StrategySettings settings(file);
  std::string section;
  int number = 0;
  for (const std::string& line : lines_without_comments(text)) {
    ++number;
    if (line.starts_with('[') && line.ends_with(']')) section = trimmed(line.substr(1, line.size() - 2)) + ".";
    const size_t equals = line.find('=');
    if (line.starts_with('[') || equals == std::string::npos) continue;
    std::string value = trimmed(line.substr(equals + 1));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    settings.add(section + trimmed(line.substr(0, equals)), std::move(value), number);
  }
  return settings;
}

StrategyFormat torchtitan_strategy() {
  return {"torchtitan",    "a TOML file of torchtitan (to version 0.2)", "toml", write_torchtitan, read_torchtitan,
          torchtitan_model};
}

}  // namespace shardscope
