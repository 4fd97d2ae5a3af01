#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/json_document.h"
#include "engine/config/run_file_keys.h"

namespace shardscope {

// Collects the faults of one run file while it is read, each at "FILE:LINE: path" (the bare path where the file has
// no name), and makes the checks that every value needs.
class FaultList {
 public:
  FaultList(const std::string& file_name, std::vector<Error>& errors) : file_name_(file_name), errors_(errors) {}

  void fail(int line, const std::string& path, std::string code, std::string message, std::string hint = {});

  // Whether the node is of this kind; a wrong_type fault where not.
  bool expect(const JsonNode& node, const std::string& path, JsonNode::Kind kind, const char* expected,
              std::string hint = {});
  // The value of an integer node from low to high; a fault and nothing where it is another.
  std::optional<int64_t> integer(const JsonNode& node, const std::string& path, int64_t low, int64_t high);
  // Unknown keys of an object, and those that it needs and has not, not even misspelt.
  void check_keys(const JsonNode& node, const std::string& path, const run_file::Keys& keys);
  // Keys given more than once, in the node and all that it holds.
  void check_repeated_keys(const JsonNode& node, const std::string& path);

  size_t count() const { return errors_.size(); }

 private:
  std::string file_name_;
  std::vector<Error>& errors_;
};

// The member of an object by one of the `names` that its keys may have, also where that is misspelt; null where there
// is none.
const JsonNode* find_meant(const JsonNode& object, const std::string& key, const std::vector<std::string>& names);

}  // namespace shardscope
