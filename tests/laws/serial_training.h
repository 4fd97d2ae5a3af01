#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/training_agreement.h"

namespace shardscope::test {

// The first steps of a preset on one device: what every mesh, mode and schedule is compared with.
inline constexpr int64_t serial_steps = 3;

inline const ThreadTraining& serial_training(const SystemPreset& preset) {
  static std::map<std::string, ThreadTraining> cache;
  auto [entry, added] = cache.try_emplace(preset.name);
  if (added) {
    const std::vector<int64_t> alone(static_cast<size_t>(preset.mesh_axes), 1);
    entry->second =
        train_in_threads(compile({system_run(preset.name, preset.small, alone), reference_host()}), serial_steps);
  }
  return entry->second;
}

inline std::vector<double> losses_of(const ThreadTraining& training) {
  std::vector<double> losses;
  for (const StepMessage& step : training.steps) losses.push_back(value_of(step.metrics, "loss"));
  return losses;
}

// The keys' part of a fused (3, heads, size) bias is its second third.
inline bool is_key_bias(const std::string& name, size_t index, size_t count) {
  if (name.ends_with("/key/bias")) return true;
  return (name.ends_with("qkv_proj/bias") || name.ends_with("c_attn/bias")) && index / (count / 3) == 1;
}

}  // namespace shardscope::test
