#include "engine/machine/json_changes.h"

#include <vector>

#include "engine/base/error.h"
#include "engine/config/fault_list.h"
#include "engine/config/place.h"

namespace shardscope {

void apply_changes(JsonNode& target, const JsonNode& changes, const std::string& place) {
  if (!changes.is(JsonNode::Kind::object)) {
    target = changes;
    return;
  }
  if (target.is(JsonNode::Kind::array)) {
    for (size_t i = 0; i < changes.keys.size(); ++i) {
      std::vector<std::string> names;
      JsonNode* named = nullptr;
      for (JsonNode& item : target.items) {
        const JsonNode* name = item.is(JsonNode::Kind::object) ? item.find("name") : nullptr;
        if (!name) continue;
        names.push_back(name->text);
        if (name->text == changes.keys[i]) named = &item;
      }
      const std::string inside = member_place(place, changes.keys[i]);
      if (!named) {
        throw Failure(Error{"unknown_name", "there is no '" + changes.keys[i] + "' here", inside,
                            name_hint(changes.keys[i], names)});
      }
      apply_changes(*named, changes.items[i], inside);
    }
    return;
  }
  if (!target.is(JsonNode::Kind::object)) target = JsonNode::object();
  for (size_t i = 0; i < changes.keys.size(); ++i) {
    JsonNode* member = target.find(changes.keys[i]);
    if (!member) member = &target.add(changes.keys[i], JsonNode());
    apply_changes(*member, changes.items[i], member_place(place, changes.keys[i]));
  }
}

}  // namespace shardscope
