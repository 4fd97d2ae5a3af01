#pragma once

#include <QJsonArray>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope::test {

// A run file that trains the model of a folder with config.json on as many tokens as `rows` has, by AdamW as
// tests/parity/transformers_decoders.py does, on `data` x `model` devices.
inline RunConfig decoder_run(const std::string& folder, const QJsonArray& rows, int64_t data, int64_t model) {
  RunConfig config;
  config.model = {"huggingface", {{"path", folder}}};
  config.mesh_axes = {{"data", data}, {"model", model}};
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data"}, {}}};
  SpecRule rule;
  rule.placement =
      LogicalAxes{{{"mlp", {"model"}}, {"heads", {"model"}}, {"kv_heads", {"model"}}, {"vocab", {"model"}}}};
  config.sharding.rules = {rule};
  config.data = {"synthetic_lm",
                 {{"batch_size", int64_t{rows.size()}}, {"sequence_length", int64_t{rows[0].toArray().size()}}}};
  config.optimizer = {"adamw", {{"learning_rate", 1e-3}, {"weight_decay", 0.1}}};
  return config;
}

}  // namespace shardscope::test
