#include <fmt/format.h>

#include <sstream>

#include "engine/base/plural.h"
#include "engine/config/strategy.h"
#include "engine/export/portable_model.h"
#include "engine/export/strategy_format.h"
#include "engine/export/strategy_settings.h"

namespace shardscope {

namespace {

// Megatron-LM's arguments (megatron/training/arguments.py). Its ranks are ordered tp-cp-ep-dp-pp, innermost first; with
// --use-tp-pp-dp-mapping dp is outermost. The number of replicas follows from the number of devices. Experts are split
// over consecutive devices of context and data (parallel_state.py). Its FSDP writes checkpoints of its own format
// alone.
constexpr const char* world_size = "WORLD_SIZE";
const std::vector<std::string> replicas_outermost = {"data", "fsdp", "pipeline", "expert", "context", "tensor"};

std::vector<std::string> without_units(std::vector<std::string> order, const StrategyConfig& strategy) {
  std::erase_if(order, [&](const std::string& axis) { return degree(strategy, axis) == 1; });
  return order;
}

WrittenStrategy write_megatron(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  const bool replicas_first = s.order == without_units(replicas_outermost, s);
  const int64_t chunks = s.pipeline * s.virtual_stages;
  const bool is_even = portable.layers % chunks == 0, with_ends = !is_even && (portable.layers + 2) % chunks == 0;
  UnsaidStrategy unsaid("Megatron");
  unsaid.refuse(!is_even && !with_ends, s.virtual_stages > 1 ? "virtual_stages" : "pipeline",
                fmt::format("cuts {} into stages of equally many, embedding and loss perhaps counted as one each",
                            counted(portable.layers, "layer")),
                fmt::format("a divisor of {} or of {}", portable.layers, portable.layers + 2));
  unsaid.refuse(s.pipeline_schedule != "1f1b", "pipeline_schedule", "has the schedule 1f1b alone", "\"1f1b\"");
  unsaid.refuse(s.fsdp > 1 && s.expert * s.context > 1, "fsdp",
                "splits parameters over the devices of experts and of context as well",
                "zero 1; zero 3 and data in place of fsdp; or expert and context 1");
  unsaid.refuse(s.recompute != "none" && s.recompute != "selective" && s.recompute != "full", "recompute",
                "recomputes no patterns of ops", "none, selective or full");
  unsaid.refuse(!s.order.empty() && !replicas_first, "order", "orders its ranks in two ways alone",
                "pipeline, data, fsdp, expert, context, tensor; or data, fsdp, pipeline, expert, context, tensor");
  unsaid.refuse(replicas_first && !s.order.empty() && s.pipeline > 1 && s.expert != s.context, "order",
                "has replicas outside of stages only where as many devices share experts as parts of a sequence",
                "leave it out");
  unsaid.refuse(s.expert > 1 && s.tensor > 1 && !s.sequence_parallel, "sequence_parallel",
                "trains experts beside tensor parallelism with sequence parallelism alone", "true");
  unsaid.finish();
  std::string text = fmt::format("# torchrun on {}: {}={}\n", counted(s.devices(), "device"), world_size, s.devices());
  const auto add = [&](const char* name, int64_t value, int64_t usual = 1) {
    if (value != usual) text += fmt::format("--{} {}\n", name, value);
  };
  add("tensor-model-parallel-size", s.tensor);
  if (s.sequence_parallel) text += "--sequence-parallel\n";
  add("pipeline-model-parallel-size", s.pipeline);
  add("num-virtual-stages-per-pipeline-rank", s.virtual_stages);
  if (with_ends) text += "--account-for-embedding-in-pipeline-split\n--account-for-loss-in-pipeline-split\n";
  add("context-parallel-size", s.context);
  add("expert-model-parallel-size", s.expert);
  if (replicas_first && !s.order.empty()) text += "--use-tp-pp-dp-mapping\n";
  const bool splits_parameters = s.fsdp > 1 || s.zero == 3;
  if (s.zero > 0 || s.fsdp > 1) text += "--use-distributed-optimizer\n";
  if (s.zero == 2 || splits_parameters) {
    text += fmt::format("--use-megatron-fsdp\n--ckpt-format fsdp_dtensor\n--data-parallel-sharding-strategy {}\n",
                        splits_parameters ? "optim_grads_params" : "optim_grads");
  }
  if (s.fsdp > 1) add("num-distributed-optimizer-instances", s.data);
  add("micro-batch-size", s.microbatch_size, 0);
  add("global-batch-size", portable.batch_size, 0);
  if (s.recompute == "selective") text += "--recompute-granularity selective\n";
  if (s.recompute == "full")
    text += "--recompute-granularity full\n--recompute-method uniform\n--recompute-num-layers 1\n";
  return {text, note_of_experts(s), layers_of_equal_chunks(portable.layers, chunks, with_ends ? 1 : 0)};
}

// Arguments that change the strategy, and have no counterpart in one.
void refuse_unknown_cuts(StrategySettings& settings, const StrategyConfig& strategy) {
  for (const char* key :
       {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers", "pipeline-model-parallel-layout"}) {
    if (strategy.pipeline > 1 && settings.has(key))
      settings.fail(key, "a strategy does not say which layers a stage has",
                    "leave it out, and pipeline.layers in the run file");
  }
  if (strategy.recompute == "full" &&
      (settings.text("recompute-method", "uniform") != "uniform" || settings.integer("recompute-num-layers", 1) > 1))
    settings.fail(settings.has("recompute-method") ? "recompute-method" : "recompute-num-layers",
                  "a strategy recomputes each layer by itself", "--recompute-method uniform --recompute-num-layers 1");
  if (strategy.recompute == "selective" && settings.text("recompute-modules", "core_attn") != "core_attn")
    settings.fail("recompute-modules", "a strategy recomputes core_attn alone", "core_attn");
}

PortableStrategy read_megatron(const std::string& text, const std::string& file, int64_t devices, int64_t layers) {
  StrategySettings settings = megatron_settings(text, file);
  PortableStrategy result;
  result.layers = layers;
  StrategyConfig& s = result.strategy;
  s.tensor = settings.integer("tensor-model-parallel-size", 1);
  s.sequence_parallel = s.tensor > 1 && settings.flag("sequence-parallel");
  s.pipeline = settings.integer("pipeline-model-parallel-size", 1);
  s.virtual_stages = settings.integer("num-virtual-stages-per-pipeline-rank", 1);
  if (settings.has("num-layers-per-virtual-pipeline-stage")) {
    const int64_t of_a_stage = settings.integer("num-layers-per-virtual-pipeline-stage", 1);
    const int64_t all = settings.integer("num-layers", layers, 0);
    if (all % (of_a_stage * s.pipeline) != 0 || all == 0) {
      settings.fail("num-layers-per-virtual-pipeline-stage", fmt::format("{} cannot be cut so", counted(all, "layer")),
                    "a number of layers that the stages divide, under --num-layers");
    } else {
      s.virtual_stages = all / (of_a_stage * s.pipeline);
    }
  }
  s.context = settings.integer("context-parallel-size", 1);
  s.expert = settings.integer("expert-model-parallel-size", 1);
  if (settings.integer("expert-tensor-parallel-size", s.tensor) != s.tensor)
    settings.fail("expert-tensor-parallel-size", "experts are split otherwise than the rest", "the same, or absent");
  s.microbatch_size = settings.integer("micro-batch-size", 1);
  result.batch_size = settings.integer("global-batch-size", 0);
  const int64_t world = devices > 0 ? devices : settings.integer(world_size, 0);
  const int64_t others = s.tensor * s.pipeline * s.context * s.expert;
  if (world == 0) {
    settings.fail(world_size, "the arguments do not say on how many devices they run", "--devices N");
  } else if (world % others != 0) {
    settings.fail(world_size, fmt::format("{} are no multiple of {}", counted(world, "device"), others),
                  "tensor x pipeline x context x expert divides them");
  }
  const int64_t replicas = std::max<int64_t>(1, world / others);
  const std::string shards = settings.flag("use-torch-fsdp2") ? "optim_grads_params"
                             : settings.flag("use-megatron-fsdp")
                                 ? settings.text("data-parallel-sharding-strategy", "no_shard")
                                 : "no_shard";
  s.data = replicas;
  const int64_t within_a_replica = s.expert * s.context;
  const bool has_copies = replicas * within_a_replica > 1;
  s.zero = has_copies && settings.flag("use-distributed-optimizer") ? 1 : 0;
  if (shards == "optim_grads_params") {
    const int64_t instances = settings.integer("num-distributed-optimizer-instances", 1);
    if (replicas % instances != 0)
      settings.fail("num-distributed-optimizer-instances",
                    fmt::format("{} are no multiple", counted(replicas, "replica")), "");
    if (within_a_replica > 1 && instances > 1)
      settings.fail("num-distributed-optimizer-instances",
                    "parameters are split over the devices of experts and of context, but not over all replicas", "1");
    s.zero = within_a_replica > 1 ? 3 : 0;
    if (within_a_replica == 1) s.data = instances, s.fsdp = replicas / instances;
  } else if (shards == "optim_grads" || shards == "optim") {
    s.zero = !has_copies ? 0 : shards == "optim" ? 1 : 2;
  } else if (shards != "no_shard") {
    settings.fail("data-parallel-sharding-strategy", fmt::format("'{}' is not known", shards),
                  "no_shard, optim, optim_grads, optim_grads_params");
  }
  s.recompute = settings.text("recompute-granularity", "none");
  if (settings.flag("recompute-activations")) s.recompute = "selective";
  if (s.recompute != "none" && s.recompute != "selective" && s.recompute != "full")
    settings.fail("recompute-granularity", fmt::format("'{}' is not known", s.recompute), "selective or full");
  refuse_unknown_cuts(settings, s);
  if (s.fsdp == 1 && s.zero < 3 && settings.integer("num-distributed-optimizer-instances", 1) > 1)
    settings.fail("num-distributed-optimizer-instances", "a strategy splits optimizer state over all replicas", "1");
  if (settings.flag("use-tp-pp-dp-mapping")) s.order = without_units(replicas_outermost, s);
  if (s.order == without_units(default_order(), s)) s.order.clear();
  settings.finish();
  return result;
}

}  // namespace

StrategySettings megatron_settings(const std::string& text, const std::string& file) {
  StrategySettings settings(file);
  std::istringstream lines(text);
  std::string pending;
  int number = 0, pending_line = 0;
  const auto flush = [&] {
    if (!pending.empty()) settings.add(pending, "true", pending_line);
    pending.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t comment = line.find('#');
    const std::string said = line.substr(0, comment);
    if (const size_t at = line.find(std::string(world_size) + "="); at != std::string::npos) {
      std::istringstream value(line.substr(at + std::string(world_size).size() + 1));
      std::string digits;
      value >> digits;
      settings.add(world_size, digits, number);
    }
    std::istringstream words(said);
    for (std::string word; words >> word;) {
      std::erase_if(word, [](char c) { return c == '"' || c == '\'' || c == '\\' || c == '(' || c == ')'; });
      if (word.starts_with("--")) {
        flush();
        const size_t equals = word.find('=');
        pending = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        pending_line = number;
        if (equals == std::string::npos) continue;
        settings.add(pending, word.substr(equals + 1), number);
        pending.clear();
      } else if (!word.empty() && !pending.empty()) {
        settings.add(pending, word, pending_line);
        pending.clear();
      }
    }
  }
  flush();
  return settings;
}

StrategyFormat megatron_strategy() {
  return {"megatron",    "arguments of Megatron-LM's pretrain scripts", "txt", write_megatron, read_megatron,
          megatron_model};
}

}  // namespace shardscope
