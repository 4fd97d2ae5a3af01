#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/options.h"
#include "engine/config/spec_rule.h"
#include "engine/config/strategy_config.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/partition_spec.h"

namespace shardscope {

struct ParameterSpec {
  std::vector<std::string> path;  // {"params", "Embed_0", "embedding"}; its parts may be patterns: "Block_*"
  PartitionSpec spec;
  bool operator==(const ParameterSpec&) const = default;
};

enum class LayoutMode : uint8_t { fastest, as_written };

// ZeRO (Rajbhandari et al., 2019): what data parallelism keeps on every device is split over mesh axes instead. Stage
// 1: optimizer state; 2: and gradients; 3: and parameters, which are gathered before each use and dropped after it. 0:
// nothing. Of several axes those that split an array already do not split it again: kernels of experts over "expert".
struct ZeroConfig {
  int64_t stage = 0;
  std::vector<std::string> axes;  // empty: the first of the mesh
  bool operator==(const ZeroConfig&) const = default;
};

struct ShardingConfig {
  LayoutMode mode = LayoutMode::fastest;
  PartitionSpec in;   // of the model's token inputs (batch, sequence)
  PartitionSpec out;  // of the model's output
  // In file order, which is that of a nesting: parameters that share a prefix stand together. An exact name decides
  // before patterns do, of these the first that matches.
  std::vector<ParameterSpec> parameters;
  std::vector<Constraint> constraints;
  std::vector<SpecRule> rules;  // for what none of the above names; see engine/shard/spec_rules.h
  ZeroConfig zero;
  // Mode as_written: mesh axes over which parameters stay split where they are used, so that activations move instead,
  // as in Megatron; without one what is smaller moves.
  std::vector<std::string> keep;
  std::optional<int64_t> memory_limit_mib;  // of one device; without it the machine's
  bool operator==(const ShardingConfig&) const = default;
};

// Types of the arrays of a training, as the file says: a recipe ("bf16_mixed"), or types by what has them ("f32", and
// "none" for a master copy). Empty: it does not say. See engine/compile/precision.h.
struct PrecisionConfig {
  std::string recipe;
  std::string compute, parameters, master, gradients, reduction, moments;
  bool operator==(const PrecisionConfig&) const = default;
};

// How a training step runs its batch.
// Whether collectives run beside what a device computes, where its machine can do both: `automatic` where the predicted
// step gets shorter within the memory limit; `off`: one after the other. Results are the same bits.
enum class OverlapMode : uint8_t { automatic, off };

struct ScheduleConfig {
  // The batch is cut into so many equal parts along its rows, which run forward and backward one after the other;
  // gradients and metrics add up, and the update runs once.
  int64_t microbatches = 1;
  // Which forward results backward makes again instead of keeping them: "none"; "full": all of a layer but what it
  // hands on; "mlp": of that part; "attention": of its core; or a pattern of names of ops, "**/gelu". A list of the
  // last four is what any of them names: ["mlp", "**/ln1/**"], here as one pattern, "{mlp,**/ln1/**}".
  std::string rematerialise = "none";
  int64_t rematerialised_layers = 1;  // "full": so many layers that follow each other hand on but the last one's result
  OverlapMode overlap = OverlapMode::automatic;
  bool operator==(const ScheduleConfig&) const = default;
};

// A mesh axis whose devices are stages: each holds a chunk of the network's layers, or several, and microbatches pass
// through them. Empty axis: none.
struct PipelineConfig {
  std::string axis;
  std::string schedule = "1f1b";  // "gpipe", "1f1b", "interleaved", "zero_bubble"
  int64_t chunks = 1;             // chunks of layers of each stage
  std::vector<int64_t> layers;    // of each chunk in the network's order; empty: such that all take equally long
  bool operator==(const PipelineConfig&) const = default;
};

// Rules of lint that are turned off (engine/lint/rules/lint_rule.h), each with the reason, in file order.
struct LintConfig {
  std::vector<std::pair<std::string, std::string>> off;
  bool operator==(const LintConfig&) const = default;
};

// How the run file in `folder` names files that are elsewhere: their absolute paths, and its own text. Nothing that a
// run depends on, so that configs that differ in it alone are equal.
struct WrittenPaths {
  std::string folder;
  std::map<std::string, std::string> texts;
  bool operator==(const WrittenPaths&) const { return true; }
};

// One run, as its file says it: plain values, no defaults left open. See resources/run_file.schema.json.
struct RunConfig {
  NamedOptions model;
  // What mesh_axes and parts of sharding, schedule and pipeline stand for (strategy.h), where the file says it so.
  std::optional<StrategyConfig> strategy;
  std::vector<MeshAxis> mesh_axes;
  std::vector<int> mesh_devices;  // empty: 0..n-1
  ShardingConfig sharding;
  NamedOptions data;       // name = the file's "kind"; options batch_size, seed
  NamedOptions optimizer;  // its name empty: none, the run is forward alone
  PrecisionConfig precision;
  ScheduleConfig schedule;
  PipelineConfig pipeline;
  LintConfig lint;
  std::string machine;  // JSON text of what it is planned for (engine/machine/chosen_machine.h); empty: this host
  std::string stack;    // JSON text of what software runs it there (engine/machine/chosen_stack.h); empty: this program
  std::string hosts;    // of its ranks, in order: "h0:4,h1:4"; empty: this host alone
  int64_t seed = 0;
  int64_t steps = 10;
  bool deterministic = true;
  WrittenPaths written_paths;  // engine/compile/file_paths.h

  bool trains() const { return !optimizer.name.empty(); }
  bool operator==(const RunConfig&) const = default;
};

// Paths of places in the run file, for Place::path: "mesh.axes[0].size",
// "sharding.parameters.params.Embed_0.embedding[1]".
std::string parameter_place(const ParameterSpec& spec);

std::string rule_place(size_t index);  // "sharding.rules[1]"
std::string constraint_place(const Constraint& constraint);

// What `sharding.parameters` says of a parameter: under its exact name, else in the first pattern that matches. Null
// where nothing does. Of many parameters ParameterSpecs tells it.
const ParameterSpec* find_parameter_spec(const ShardingConfig& sharding, const std::vector<std::string>& path);

// Gives a parameter its spec: changed where the file names it, else added behind its nearest relatives, so that
// the order stays that of a nesting.
void set_parameter_spec(ShardingConfig& sharding, const std::vector<std::string>& path, PartitionSpec spec);

}  // namespace shardscope
