#pragma once

#include <QString>
#include <cstdint>

#include "engine/config/json_document.h"

namespace shardscope {

// What the table of keys (engine/config/run_keys.h) says of a place of the run file without indices, such as
// "strategy.zero" or "schedule.microbatches", as a JSON Schema.
const JsonNode& key_schema(const QString& place);
QString key_description(const QString& place);

// The whole numbers that a run file may have at such a place.
struct KeyRange {
  int64_t low = 0, high = 0;
};
KeyRange key_range(const QString& place);

}  // namespace shardscope
