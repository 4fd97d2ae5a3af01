#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::fuzz {

// JSON as it is written, not as it is meant: keys may come twice, and scalars and keys are texts of any kind.
struct JsonNode {
  enum class Kind { scalar, array, object };

  Kind kind = Kind::scalar;
  std::string text;               // of a scalar, as in the file: "\"data\"", "3"
  std::vector<std::string> keys;  // of an object, as in the file, by child
  std::vector<JsonNode> children;
};

JsonNode scalar(std::string text);
// Nothing where the text is not JSON.
std::optional<JsonNode> parse_json(std::string_view text);
std::string print_json(const JsonNode& node);
// The node and all below it, depth first; pointers into `node`.
std::vector<JsonNode*> all_nodes(JsonNode& node);

}  // namespace shardscope::fuzz
