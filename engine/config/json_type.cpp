#include "engine/config/json_type.h"

namespace shardscope {

using Kind = JsonNode::Kind;

JsonNode json_object(JsonMembers members) {
  JsonNode node = JsonNode::object();
  for (auto& [key, value] : members) node.add(key, std::move(value));
  return node;
}

JsonNode json_list(const std::vector<std::string>& texts) {
  JsonNode node = JsonNode::array();
  for (const std::string& text : texts) node.items.push_back(JsonNode::of(text));
  return node;
}

JsonNode any_of(std::vector<JsonNode> schemas) {
  JsonNode list = JsonNode::array();
  list.items = std::move(schemas);
  return json_object({{"anyOf", std::move(list)}});
}

JsonNode with_help(std::string help, const JsonNode& schema) {
  if (help.empty()) return schema;
  JsonNode result = json_object({{"description", JsonNode::of(std::move(help))}});
  for (size_t i = 0; i < schema.keys.size(); ++i)
    if (schema.keys[i] != "description") result.add(schema.keys[i], schema.items[i]);
  return result;
}

const JsonNode& object_schema(const JsonNode& schema) {
  if (const JsonNode* any = schema.find("anyOf"))
    for (const JsonNode& one : any->items)
      if (one.find("properties")) return one;
  return schema;
}

std::vector<std::string> keys_of(const JsonNode& schema) {
  const JsonNode* properties = object_schema(schema).find("properties");
  return properties ? properties->keys : std::vector<std::string>();
}

JsonType<std::string> text(const char* expected, const std::string& hint, const std::vector<std::string>& known) {
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            if (!faults.expect(node, place, Kind::string, expected, hint)) return {};
            return node.text;
          },
          [](const std::string& value) { return JsonNode::of(value); },
          known.empty() ? json_object({{"type", JsonNode::of("string")}}) : json_object({{"enum", json_list(known)}})};
}

JsonType<std::string> text_of_some_length() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            const auto value = text().read(node, place, faults);
            if (value && value->empty()) faults.fail(node.line, place, "empty_text", "it is empty", "a name");
            return value;
          },
          text().write, json_object({{"type", JsonNode::of("string")}, {"minLength", JsonNode::of(int64_t{1})}})};
}

JsonType<bool> flag() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<bool> {
            if (!faults.expect(node, place, Kind::boolean, "true or false")) return {};
            return node.boolean;
          },
          [](bool value) { return JsonNode::of(value); }, json_object({{"type", JsonNode::of("boolean")}})};
}

JsonType<double> number(double low, double high) {
  return {
      [=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<double> {
        if (!node.is(Kind::integer) && !faults.expect(node, place, Kind::number, "a number")) return {};
        const double value = node.is(Kind::integer) ? static_cast<double>(node.integer) : node.number;
        if (value >= low && value <= high) return value;
        faults.fail(node.line, place, "out_of_range", fmt::format("{} is out of range", describe(node)),
                    fmt::format("{} to {}", low, high));
        return {};
      },
      [](double value) { return JsonNode::of(value); },
      json_object({{"type", JsonNode::of("number")}, {"minimum", JsonNode::of(low)}, {"maximum", JsonNode::of(high)}})};
}

void KeyTable::add(std::string key, Member member, std::shared_ptr<const AnyJsonType> type, const JsonNode& schema,
                   std::string help, Presence presence, std::string example) {
  JsonNode described = with_help(std::move(help), schema);
  const JsonNode standard = type->write(member(standard_.get()), false);
  const bool is_plain = !standard.is(Kind::array) && !standard.is(Kind::object) && !standard.is(Kind::null);
  if (presence != Presence::required && is_plain) described.add("default", standard);
  fields_.push_back({std::move(key), presence == Presence::required, presence != Presence::optional, std::move(example),
                     std::move(member), std::move(type), std::move(described)});
}

void KeyTable::add_unkept(std::string key, std::shared_ptr<const AnyJsonType> type, const JsonNode& schema,
                          std::string help) {
  fields_.push_back({std::move(key),
                     false,
                     false,
                     {},
                     [](void* owner) { return owner; },
                     std::move(type),
                     with_help(std::move(help), schema)});
}

namespace {

class InnerKeys final : public AnyJsonType {
 public:
  explicit InnerKeys(KeyTable keys) : keys_(std::move(keys)) {}
  bool read(const JsonNode& node, const std::string& place, void* owner, FaultList& faults) const override {
    return keys_.read(node, place, owner, faults);
  }
  JsonNode write(const void* owner, bool all) const override { return keys_.write(owner, all); }
  bool equal(const void* owner, const void*) const override { return keys_.is_default(owner); }

 private:
  KeyTable keys_;
};

}  // namespace

void KeyTable::add_inner(std::string key, KeyTable keys, bool required, std::string example) {
  JsonNode schema = keys.schema();
  fields_.push_back({std::move(key), required, required, std::move(example), [](void* owner) { return owner; },
                     std::make_shared<InnerKeys>(std::move(keys)), std::move(schema)});
}

bool KeyTable::read(const JsonNode& node, const std::string& place, void* owner, FaultList& faults) const {
  if (!faults.expect(node, place, Kind::object, "an object", hint_)) return false;
  const size_t before = faults.count();
  run_file::Keys names;
  for (const Field& field : fields_) names.push_back({field.key, field.required, field.example});
  faults.check_keys(node, place, names);
  for (const Field& field : fields_)
    if (const JsonNode* value = node.find(field.key))
      field.type->read(*value, member_place(place, field.key), field.member(owner), faults);
  if (check_ && faults.count() == before) check_(owner, node, place, faults);
  return true;
}

JsonNode KeyTable::write(const void* owner, bool all) const {
  JsonNode node = JsonNode::object();
  for (const Field& field : fields_) {
    const bool is_said = field.always || !is_default(field, owner);
    if (!is_said && !all) continue;
    JsonNode value = field.type->write(field.member(const_cast<void*>(owner)), all);
    if (is_said || !value.is(Kind::null)) node.add(field.key, std::move(value));
  }
  return node;
}

bool KeyTable::is_default(const Field& field, const void* owner) const {
  return field.type->equal(field.member(const_cast<void*>(owner)), field.member(standard_.get()));
}

bool KeyTable::is_default(const void* owner) const {
  return std::all_of(fields_.begin(), fields_.end(), [&](const Field& field) { return is_default(field, owner); });
}

JsonNode KeyTable::schema() const {
  JsonMembers properties;
  std::vector<std::string> necessary;
  for (const Field& field : fields_) {
    properties.emplace_back(field.key, field.schema);
    if (field.required) necessary.push_back(field.key);
  }
  return with_help(help_, json_object({{"type", JsonNode::of("object")},
                                       {"required", json_list(necessary)},
                                       {"additionalProperties", JsonNode::of(false)},
                                       {"properties", json_object(std::move(properties))}}));
}

}  // namespace shardscope
