#include "engine/machine/chosen_stack.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/machine/json_changes.h"
#include "engine/machine/library_files.h"
#include "engine/machine/stack_keys.h"

namespace shardscope {

namespace {

constexpr const char* stack_root = "stack";

Stack read_stack(const JsonNode& node) {
  std::vector<Error> errors;
  FaultList faults("", errors);
  faults.check_repeated_keys(node, stack_root);
  std::optional<Stack> stack = stack_type().read(node, stack_root, faults);
  if (!errors.empty()) throw Failure(std::move(errors));
  return std::move(*stack);
}

Stack read_choice(const std::string& json) {
  const JsonNode value = read_json(json, stack_root);
  const bool is_text = value.is(JsonNode::Kind::string);
  const JsonNode* named = is_text ? &value : value.find("name");
  if (!named || !named->is(JsonNode::Kind::string)) {
    throw Failure(Error{"missing_key", "'name' is missing", "stack.name", "such as \"megatron\""});
  }
  const auto found = std::ranges::find(stack_files(), named->text, &LibraryFile::name);
  if (found == stack_files().end()) {
    const std::vector<std::string_view> names = stack_names();
    throw Failure(Error{"unknown_stack", "unknown software stack '" + named->text + "'",
                        is_text ? stack_root : "stack.name", name_hint(named->text, {names.begin(), names.end()})});
  }
  JsonNode whole = read_json(found->text, stack_root);
  if (!is_text) apply_changes(whole, value, stack_root);
  return read_stack(whole);
}

}  // namespace

std::vector<std::string_view> stack_names() {
  std::vector<std::string_view> names;
  for (const LibraryFile& file : stack_files()) names.push_back(file.name);
  return names;
}

Stack chosen_stack(const std::string& json) {
  if (json.empty()) return {};
  thread_local std::pair<std::string, Stack> last;  // a search asks for one again and again
  if (last.first != json) last = {json, read_choice(json)};
  return last.second;
}

std::string stack_choice(const std::string& name) {
  return name == Stack().name ? std::string() : print_json_line(JsonNode::of(name));
}

}  // namespace shardscope
