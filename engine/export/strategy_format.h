#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/export/portable_model.h"

namespace shardscope {

// A strategy as other programs know it: all of its numbers said. ZeRO stage 3 over `data` alone is fsdp; without other
// devices that have the same parameters zero is 0.
struct PortableStrategy {
  StrategyConfig strategy;    // microbatch_size at least 1, recompute never empty, no order that is the default one
  int64_t batch_size = 0;     // of a step, all replicas; 0: not known
  int64_t layers = 0;         // of the model; 0: not known
  int64_t slice_devices = 0;  // of a node, or a slice of a pod; 0: not known. It is written, not read.
  bool operator==(const PortableStrategy&) const = default;
};
// Throws Failure (no_strategy) of a config without one.
PortableStrategy portable_strategy(const RunConfig& config);

// What another program is given.
struct WrittenStrategy {
  std::string text;
  std::vector<std::string> notes;    // what runs there otherwise than it is planned, a phrase each
  std::vector<int64_t> layers = {};  // of each model chunk, as that program cuts them; empty: one stage, or not known
};

// How another program is given a strategy, in arguments or in a file.
struct StrategyFormat {
  std::string name;       // "megatron"
  std::string what;       // for people, a phrase
  std::string extension;  // of its file, without a dot
  // Throws Failure with what the program cannot express, at its place in the run file.
  WrittenStrategy (*write)(const PortableStrategy& strategy);
  // Reads such a file, by people too; keys that say nothing of a strategy are passed over. `devices`: how many there
  // are, 0 where only the file says it. Throws Failure with what a run file cannot say, at its line. Nullptr: is not
  // read.
  PortableStrategy (*read)(const std::string& text, const std::string& file, int64_t devices, int64_t layers);
  // The model that such a file describes. Throws Failure where it says too little, or what no family has, at its line.
  // Nullptr: its files describe none.
  PortableModel (*read_model)(const std::string& text, const std::string& file);
};

// All of them; one line in strategy_format.cpp adds one. Null: there is none of that name.
const std::vector<StrategyFormat>& strategy_formats();
const StrategyFormat* find_strategy_format(const std::string& name);

StrategyFormat megatron_strategy();
StrategyFormat torchtitan_strategy();
StrategyFormat maxtext_strategy();
StrategyFormat deepspeed_strategy();

}  // namespace shardscope
