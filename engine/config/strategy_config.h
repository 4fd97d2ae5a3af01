#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

// How a model is split, by the usual numbers (the run file's "strategy"): degrees of parallelism, each at least 1, and
// what goes with them. engine/config/strategy.h says what mesh, sharding, pipeline and schedule these make.
struct StrategyConfig {
  int64_t data = 1;     // replicas
  int64_t fsdp = 1;     // replicas that share parameters, gradients and optimizer state (ZeRO-3)
  int64_t tensor = 1;   // Megatron's tensor parallelism
  int64_t context = 1;  // parts of a sequence
  int64_t expert = 1;   // parts of the list of experts; tokens are split over them, too
  int64_t pipeline = 1;
  int64_t virtual_stages = 1;              // model chunks of each stage
  std::string pipeline_schedule = "1f1b";  // with virtual stages "1f1b" is "interleaved"
  bool sequence_parallel = false;          // activations between tensor-parallel blocks are split along the length
  int64_t zero = 0;                        // ZeRO stage over data, expert and context
  int64_t microbatch_size = 0;             // sequences of one replica at a time; 0: as the schedule says
  // "none", "selective", "full", or a pattern as schedule.rematerialise has it; empty: as the schedule says.
  std::string recompute;
  std::vector<std::string> order;  // mesh axes, outermost first; empty: default_order()

  int64_t devices() const;   // of all axes; the largest number where they are more
  int64_t replicas() const;  // parts into which a batch is split: data x fsdp x expert
  bool operator==(const StrategyConfig&) const = default;
};

}  // namespace shardscope
