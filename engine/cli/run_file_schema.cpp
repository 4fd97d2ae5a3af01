#include "engine/cli/run_file_schema.h"

#include "engine/cli/option_reference.h"
#include "engine/config/run_keys.h"

namespace shardscope {

namespace {

JsonNode typed(const char* type) { return json_object({{"type", JsonNode::of(type)}}); }

struct TypeSchema {
  const OptionDefinition& option;

  JsonNode operator()(bool) const { return typed("boolean"); }
  JsonNode operator()(int64_t) const {
    return integer<int64_t>(static_cast<int64_t>(option.minimum), static_cast<int64_t>(option.maximum)).schema;
  }
  JsonNode operator()(double) const { return number(option.minimum, option.maximum).schema; }
  JsonNode operator()(const TextList&) const { return list_of(text()).schema; }
  JsonNode operator()(const NumberList&) const { return typed("array"); }
  JsonNode operator()(Null) const { return typed("null"); }
  JsonNode operator()(const std::string&) const {
    if (option.is_open)
      return json_object({{"type", JsonNode::of("object")}, {"$ref", JsonNode::of("#/$defs/option")}});
    return option.choices.empty() ? typed("string") : json_object({{"enum", json_list(option.choices)}});
  }
};

struct DefaultValue {
  template <class T>
  JsonNode operator()(const T& value) const {
    return JsonNode::of(value);
  }
  JsonNode operator()(const TextList& texts) const { return json_list(texts); }
  JsonNode operator()(const NumberList&) const { return JsonNode::array(); }
  JsonNode operator()(Null) const { return {}; }
};

JsonNode option_schema(const OptionDefinition& option) {
  JsonNode schema = with_help(option.help, std::visit(TypeSchema{option}, option.default_value));
  if (!option.required && !option.is_open) schema.add("default", std::visit(DefaultValue{}, option.default_value));
  return schema;
}

JsonNode closed_object(JsonNode properties, const std::vector<std::string>& required) {
  return json_object({{"type", JsonNode::of("object")},
                      {"required", json_list(required)},
                      {"additionalProperties", JsonNode::of(false)},
                      {"properties", std::move(properties)}});
}

// The option "lora.rank" is the member "rank" of an object "lora".
void add_option(JsonNode& properties, const std::string& name, JsonNode schema) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) {
    properties.add(name, std::move(schema));
    return;
  }
  JsonNode* outer = properties.find(name.substr(0, dot));
  if (!outer) outer = &properties.add(name.substr(0, dot), closed_object(JsonNode::object(), {}));
  add_option(*outer->find("properties"), name.substr(dot + 1), std::move(schema));
}

JsonNode owner_schema(const OptionOwner& owner, const std::string& choice) {
  JsonNode properties = json_object({{choice, json_object({{"enum", json_list({owner.name})}})}});
  std::vector<std::string> required = {choice};
  for (const OptionDefinition& option : *owner.options) {
    add_option(properties, option.name, option_schema(option));
    if (option.required) required.push_back(option.name);
  }
  return with_help(owner.summary, closed_object(std::move(properties), required));
}

}  // namespace

std::string run_file_schema() {
  JsonNode schema = run_schema();
  JsonNode& sections = *schema.find("properties");
  for (const char* name : {"model", "data", "optimizer"}) {
    JsonNode& section = *sections.find(name);
    const std::string choice = section.find("properties")->keys.front();
    std::vector<JsonNode> owners;
    for (const OptionOwner& owner : option_owners())
      if (owner.section == name) owners.push_back(owner_schema(owner, choice));
    section.remove("additionalProperties");
    section.add("anyOf", any_of(std::move(owners)).items.front());
  }
  return print_json(schema);
}

}  // namespace shardscope
