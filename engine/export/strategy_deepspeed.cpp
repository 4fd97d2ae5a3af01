#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/export/strategy_format.h"
#include "engine/export/strategy_settings.h"

namespace shardscope {

namespace {

// DeepSpeed's configuration (docs/_pages/config-json.md). What the program itself decides there is refused.
WrittenStrategy write_deepspeed(const PortableStrategy& portable) {
  const StrategyConfig& s = portable.strategy;
  UnsaidStrategy unsaid("DeepSpeed's configuration");
  unsaid.refuse(s.pipeline > 1, "pipeline", "has no pipeline: the program makes it (PipelineModule)", "1");
  unsaid.refuse(s.expert > 1, "expert", "has no experts: the program makes them (MoE, ep_size)", "1");
  unsaid.refuse(s.context > 1, "context", "has no context parallelism", "1");
  unsaid.refuse(s.sequence_parallel, "sequence_parallel", "has no sequence parallelism of Megatron", "false");
  unsaid.refuse(s.tensor > 1 && s.fsdp > 1, "tensor", "combines tensor parallelism with ZeRO stages 0 to 2", "1");
  unsaid.refuse(s.fsdp > 1 && s.data > 1, "data", "splits parameters over all replicas (MiCS was removed)",
                "1, and all replicas in fsdp");
  unsaid.refuse(s.recompute != "none", "recompute", "leaves it to the program what is recomputed", "none");
  unsaid.refuse(!s.order.empty(), "order", "has an order of its own", "leave it out");
  unsaid.finish();
  const int64_t microbatches = std::max<int64_t>(1, portable.batch_size / s.replicas() / s.microbatch_size);
  nlohmann::ordered_json json = {{"train_batch_size", portable.batch_size},
                                 {"train_micro_batch_size_per_gpu", s.microbatch_size},
                                 {"gradient_accumulation_steps", microbatches}};
  json["zero_optimization"] = {{"stage", s.fsdp > 1 ? 3 : s.zero}};
  if (s.tensor > 1) json["tensor_parallel"] = {{"autotp_size", s.tensor}};
  return {json.dump(2) + '\n', {}};
}

}  // namespace

StrategyFormat deepspeed_strategy() {
  return {"deepspeed", "a configuration of DeepSpeed", "json", write_deepspeed, nullptr, nullptr};
}

}  // namespace shardscope
