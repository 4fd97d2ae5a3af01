#include "engine/cli/key_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "engine/cli/document_table.h"
#include "engine/config/run_keys.h"

namespace shardscope {

namespace {

std::string text_at(const JsonNode& schema, const char* key) {
  const JsonNode* found = schema.find(key);
  return found ? found->text : std::string();
}

std::string value_text(const JsonNode& schema);

std::string any_of(const JsonNode& schemas) {
  std::string text;
  for (const JsonNode& schema : schemas.items) text += (text.empty() ? "" : ", or ") + value_text(schema);
  return text;
}

// What a value may be, in Markdown.
std::string value_text(const JsonNode& schema) {
  if (const JsonNode* any = schema.find("anyOf")) return any_of(*any);
  if (const JsonNode* choices = schema.find("enum")) {
    std::string text;
    for (const JsonNode& choice : choices->items)
      text += fmt::format("{}`{}`", text.empty() ? "" : ", ", print_json_line(choice));
    return text;
  }
  const std::string type = text_at(schema, "type"), defined = text_at(schema, "$ref");
  if (!defined.empty()) return defined.substr(defined.rfind('/') + 1);
  if (type == "boolean") return "true or false";
  if (type == "string") return "text";
  if (type == "array") {
    const std::string item = value_text(*schema.find("items"));
    return item == "text" ? "list of texts" : "list: " + item;
  }
  const JsonNode *least = schema.find("minimum"), *most = schema.find("maximum");
  if (!least || !most) return type;
  if (most->integer == std::numeric_limits<int64_t>::max()) return fmt::format("{} from {}", type, describe(*least));
  return fmt::format("{}, {} to {}", type, describe(*least), describe(*most));
}

std::string default_text(const JsonNode& section, const std::string& key, const JsonNode& schema) {
  const JsonNode* required = section.find("required");
  if (required && std::ranges::count(required->items, key, &JsonNode::text) > 0) return "required";
  const JsonNode* standard = schema.find("default");
  const bool says_nothing = !standard || (standard->is(JsonNode::Kind::string) && standard->text.empty());
  return says_nothing ? "none" : fmt::format("`{}`", print_json_line(*standard));
}

std::string key_table(const JsonNode& section) {
  std::string text = "| key | value | default | meaning |\n|---|---|---|---|\n";
  const JsonNode& object = object_schema(section);
  const JsonNode& keys = *object.find("properties");
  for (size_t i = 0; i < keys.items.size(); ++i)
    text += fmt::format("| `{}` | {} | {} | {} |\n", keys.keys[i], value_text(keys.items[i]),
                        default_text(object, keys.keys[i], keys.items[i]), text_at(keys.items[i], "description"));
  return text;
}

}  // namespace

std::string with_key_tables(const std::string& document) {
  std::string text = document;
  const JsonNode& sections = section_schemas();
  for (size_t i = 0; i < sections.items.size(); ++i) {
    if (!object_schema(sections.items[i]).find("properties")) continue;
    std::string heading = "## " + sections.keys[i];
    heading[3] = static_cast<char>(std::toupper(heading[3]));
    text = with_table(std::move(text), heading, "| key |", key_table(sections.items[i]));
  }
  return text;
}

}  // namespace shardscope
