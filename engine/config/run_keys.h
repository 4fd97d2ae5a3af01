#pragma once

#include "engine/config/json_type.h"
#include "engine/config/run_config.h"

namespace shardscope {

// The one table of what each section of a run file says, from which reader, writer, --set, the schema and the tables of
// docs/run-file.md follow.
const JsonType<StrategyConfig>& strategy_type();
const JsonType<ShardingConfig>& sharding_type();
const JsonType<ZeroConfig>& zero_type();
const JsonType<PrecisionConfig>& precision_type();
const JsonType<ScheduleConfig>& schedule_type();
const JsonType<PipelineConfig>& pipeline_type(bool has_strategy);

// The file as a whole. What mesh and sharding say together, and what a strategy stands for, read_run_document() judges.
const JsonType<RunConfig>& run_type(bool has_strategy);

// Its JSON Schema, with any options of models, data kinds and optimizers.
JsonNode run_schema();

}  // namespace shardscope
