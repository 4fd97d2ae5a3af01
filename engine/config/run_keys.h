#pragma once

#include "engine/config/json_type.h"
#include "engine/config/run_config.h"

namespace shardscope {

// The one table of what each section of a run file says, from which reader, writer, --set, the schema, the window's
// form and the tables of docs/run-file.md follow.
const JsonType<PrecisionConfig>& precision_type();
const JsonType<ScheduleConfig>& schedule_type();
const JsonType<PipelineConfig>& pipeline_type();
const JsonType<ZeroConfig>& zero_type();

// The JSON Schema of those sections, by their keys.
const JsonNode& section_schemas();

}  // namespace shardscope
