#pragma once

#include <string>
#include <vector>

#include "engine/config/json_document.h"

namespace shardscope {

struct PathValue {
  std::string path;
  std::string text;  // the value as JSON, on one line; or why JSON cannot say it
};

// What a document says, in its order, by paths: of objects what their members say, of arrays that hold objects what
// their elements say; any other array is one value. {"a": {"b": [1, 2]}, "c": [{"d": 3}]}: "a.b" [1, 2], "c[0].d" 3.
std::vector<PathValue> path_values(const JsonNode& document);

}  // namespace shardscope
