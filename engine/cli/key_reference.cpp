#include "engine/cli/key_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string alternatives_text(const JsonNode& schemas) {
  std::vector<std::string> texts;
  for (const JsonNode& schema : schemas.items)
    if (std::string text = value_text(schema); std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
  return fmt::format("{}", fmt::join(texts, ", or "));
}

// What a value may be, in Markdown.
std::string value_text(const JsonNode& schema) {
  if (const JsonNode* any = schema.find("anyOf")) return alternatives_text(*any);
  if (const JsonNode* choices = schema.find("enum")) {
    std::string text;
    for (const JsonNode& choice : choices->items)
      text += fmt::format("{}`{}`", text.empty() ? "" : ", ", print_json_line(choice));
    return text;
  }
  const std::string type = text_at(schema, "type"), defined = text_at(schema, "$ref");
  if (!defined.empty()) {
    std::string name = defined.substr(defined.rfind('/') + 1);
    std::ranges::replace(name, '_', ' ');
    return name;
  }
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

// A description ends by what holds where the key is absent: "Absent: as the machine says."
std::pair<std::string, std::string> meaning_and_default(const JsonNode& schema) {
  std::string meaning = text_at(schema, "description");
  const size_t absent = meaning.find(" Absent");
  if (absent == std::string::npos) return {meaning, "none"};
  const size_t begin = meaning.find(": ", absent) + 2;
  return {meaning.substr(0, absent), meaning.substr(begin, meaning.size() - begin - 1)};
}

std::string key_table(const JsonNode& object) {
  std::string text = "| key | value | default | meaning |\n|---|---|---|---|\n";
  const JsonNode& keys = *object.find("properties");
  const JsonNode* required = object.find("required");
  for (size_t i = 0; i < keys.items.size(); ++i) {
    const std::string& key = keys.keys[i];
    auto [meaning, standard] = meaning_and_default(keys.items[i]);
    const JsonNode* value = keys.items[i].find("default");
    if (value && !(value->is(JsonNode::Kind::string) && value->text.empty()))
      standard = fmt::format("`{}`", print_json_line(*value));
    if (required && std::ranges::count(required->items, key, &JsonNode::text) > 0) standard = "required";
    text += fmt::format("| `{}` | {} | {} | {} |\n", key, value_text(keys.items[i]), standard, meaning);
  }
  return text;
}

}  // namespace

std::string with_key_tables(const std::string& document) {
  std::string text = document;
  const JsonNode& sections = *run_type(true).schema.find("properties");
  for (size_t i = 0; i < sections.items.size(); ++i) {
    const JsonNode* others = object_schema(sections.items[i]).find("additionalProperties");
    if (!others || !others->is(JsonNode::Kind::boolean)) continue;
    std::string heading = "## " + sections.keys[i];
    heading[3] = static_cast<char>(std::toupper(heading[3]));
    text = with_table(std::move(text), heading, "| key |", key_table(object_schema(sections.items[i])));
  }
  return text;
}

}  // namespace shardscope
