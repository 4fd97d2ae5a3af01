#include "models/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/config/fault_list.h"
#include "engine/config/read_file.h"

namespace shardscope {

namespace {

using NodeKind = JsonNode::Kind;

// Fields that are integers are written without a point.
JsonNode number_node(double number) {
  constexpr double exact = 9007199254740992;
  const bool is_integer = std::trunc(number) == number && std::abs(number) <= exact;
  return is_integer ? JsonNode::of(static_cast<int64_t>(number)) : JsonNode::of(number);
}

JsonNode node_of(const OptionValue& value) {
  if (const auto* list = std::get_if<TextList>(&value)) {
    JsonNode array = JsonNode::array();
    for (const std::string& text : *list) array.items.push_back(JsonNode::of(text));
    return array;
  }
  if (const auto* list = std::get_if<NumberList>(&value)) {
    JsonNode array = JsonNode::array();
    for (double number : *list) array.items.push_back(number_node(number));
    return array;
  }
  JsonNode node;
  if (const auto* boolean = std::get_if<bool>(&value)) node = JsonNode::of(*boolean);
  if (const auto* integer = std::get_if<int64_t>(&value)) node = JsonNode::of(*integer);
  if (const auto* number = std::get_if<double>(&value)) node = JsonNode::of(*number);
  if (const auto* text = std::get_if<std::string>(&value)) node = JsonNode::of(*text);
  return node;
}

// Sets "a.b.c" in a document, making the objects on the way.
void override_value(JsonNode& document, const std::string& path, JsonNode value) {
  const size_t dot = path.find('.');
  const std::string key = path.substr(0, dot);
  JsonNode* member = document.find(key);
  if (!member) member = &document.add(key, JsonNode::object());
  if (dot == std::string::npos) {
    *member = std::move(value);
    return;
  }
  if (!member->is(NodeKind::object)) *member = JsonNode::object();
  override_value(*member, path.substr(dot + 1), std::move(value));
}

// Fields of rotary positions that are the model's, whatever their type is.
constexpr const char* kept_of_rotary[] = {"rope_theta", "partial_rotary_factor"};

// What an object of this name says the type of rotary positions is.
std::string rotary_type(const JsonNode& object) {
  for (const char* field : {"rope_type", "type"}) {
    if (const JsonNode* type = object.find(field); type && type->is(NodeKind::string)) return type->text;
  }
  return {};
}

// Overrides by a type of rotary positions that is another one begin with an empty object: the fields of one type mean
// nothing to another.
void clear_other_rotary_types(JsonNode& document, const JsonNode& overrides) {
  for (size_t i = 0; i < overrides.keys.size(); ++i) {
    const JsonNode& given = overrides.items[i];
    JsonNode* held = document.find(overrides.keys[i]);
    if (!given.is(NodeKind::object) || !held || !held->is(NodeKind::object)) continue;
    clear_other_rotary_types(*held, given);
    const std::string type = rotary_type(given);
    if (type.empty() || type == rotary_type(*held)) continue;
    JsonNode rest = JsonNode::object();
    rest.line = held->line;
    for (const char* field : kept_of_rotary) {
      if (const JsonNode* value = held->find(field)) rest.add(field, *value);
    }
    *held = std::move(rest);
  }
}

}  // namespace

ModelConfig::ModelConfig(const JsonNode& document, std::string file, const TextList& ignored,
                         std::vector<Error>& errors)
    : node_(&document), file_(std::move(file)), ignored_(ignored.begin(), ignored.end()), errors_(&errors) {}

ModelConfig::ModelConfig(const ModelConfig& outer, const JsonNode& node, const std::string& field)
    : node_(&node), file_(outer.file_), path_(outer.path_of(field)), errors_(outer.errors_) {
  const std::string before = field + ".";
  for (const std::string& name : outer.ignored_) {
    if (name.starts_with(before)) ignored_.insert(name.substr(before.size()));
  }
}

const JsonNode* ModelConfig::find(const std::string& field) const {
  const JsonNode* member = node_->find(field);
  return member && !member->is(NodeKind::null) ? member : nullptr;
}

const JsonNode* ModelConfig::use(const std::string& field) {
  used_.insert(field);
  return find(field);
}

Place ModelConfig::place(const JsonNode& node, const std::string& path) const {
  return node.line > 0 ? in_file(file_, node.line, 0, path) : Place("model.overrides." + path);
}

const JsonNode* ModelConfig::expect(const std::string& field, NodeKind kind, const char* expected) {
  const JsonNode* node = use(field);
  if (!node || node->is(kind) || (kind == NodeKind::number && node->is(NodeKind::integer))) return node;
  fail(field, "wrong_type", fmt::format("expected {}, got {}", expected, describe(*node)));
  return nullptr;
}

void ModelConfig::fail(const std::string& field, std::string code, std::string message, std::string hint) {
  const JsonNode* node = node_->find(field);
  errors_->push_back(
      {std::move(code), std::move(message), place(node ? *node : *node_, path_of(field)), std::move(hint)});
}

std::optional<int64_t> ModelConfig::maybe_integer(const std::string& field, int64_t low, int64_t high) {
  const JsonNode* node = expect(field, NodeKind::integer, "an integer");
  if (!node) return std::nullopt;
  if (node->integer >= low && node->integer <= high) return node->integer;
  fail(field, "out_of_range", fmt::format("{} is out of range", node->integer), fmt::format("{} to {}", low, high));
  return std::nullopt;
}

int64_t ModelConfig::integer(const std::string& field, std::optional<int64_t> otherwise, int64_t low, int64_t high) {
  if (!otherwise && !find(field)) {
    used_.insert(field);
    fail(field, "missing_key", fmt::format("'{}' is missing", field), "a model's config says it");
  }
  return maybe_integer(field, low, high).value_or(otherwise.value_or(low));
}

std::optional<double> ModelConfig::maybe_number(const std::string& field, double low, double high) {
  const JsonNode* node = expect(field, NodeKind::number, "a number");
  if (!node) return std::nullopt;
  const double value = node->is(NodeKind::integer) ? static_cast<double>(node->integer) : node->number;
  if (value >= low && value <= high) return value;
  fail(field, "out_of_range", fmt::format("{} is out of range", value), fmt::format("{} to {}", low, high));
  return std::nullopt;
}

double ModelConfig::number(const std::string& field, std::optional<double> otherwise, double low, double high) {
  if (!otherwise && !find(field)) {
    used_.insert(field);
    fail(field, "missing_key", fmt::format("'{}' is missing", field), "a model's config says it");
  }
  return maybe_number(field, low, high).value_or(otherwise.value_or(low));
}

bool ModelConfig::boolean(const std::string& field, bool otherwise) {
  const JsonNode* node = expect(field, NodeKind::boolean, "true or false");
  return node ? node->boolean : otherwise;
}

std::string ModelConfig::text(const std::string& field, const std::string& otherwise,
                              const std::vector<std::string>& choices) {
  const JsonNode* node = expect(field, NodeKind::string, "a text");
  if (!node) return otherwise;
  if (std::ranges::find(choices, node->text) != choices.end()) return node->text;
  fail(field, "unknown_choice", fmt::format("unknown {} '{}'", field, node->text), name_hint(node->text, choices));
  return otherwise;
}

std::optional<TextList> ModelConfig::texts(const std::string& field, const std::vector<std::string>& choices) {
  const JsonNode* node = expect(field, NodeKind::array, "a list of texts");
  if (!node) return std::nullopt;
  TextList list;
  for (const JsonNode& item : node->items) {
    if (!item.is(NodeKind::string) || std::ranges::find(choices, item.text) == choices.end()) {
      fail(field, "unknown_choice", fmt::format("unknown {} {}", field, describe(item)),
           fmt::format("known: {}", fmt::join(choices, ", ")));
      return std::nullopt;
    }
    list.push_back(item.text);
  }
  return list;
}

std::optional<std::vector<double>> ModelConfig::numbers(const std::string& field, int64_t count, double low,
                                                        double high) {
  const JsonNode* node = expect(field, NodeKind::array, "a list of numbers");
  if (!node) return std::nullopt;
  std::vector<double> list;
  for (const JsonNode& item : node->items) {
    const bool number = item.is(NodeKind::number) || item.is(NodeKind::integer);
    const double value = item.is(NodeKind::integer) ? static_cast<double>(item.integer) : item.number;
    if (!number || value < low || value > high) {
      fail(field, "out_of_range", fmt::format("{} is out of range", describe(item)),
           fmt::format("numbers of {} to {}", low, high));
      return std::nullopt;
    }
    list.push_back(value);
  }
  if (std::ssize(list) == count) return list;
  fail(field, "wrong_count", fmt::format("it has {}, expected {}", counted(std::ssize(list), "number"), count));
  return std::nullopt;
}

std::vector<int64_t> ModelConfig::integers(const std::string& field, int64_t low, int64_t high) {
  const JsonNode* node = expect(field, NodeKind::array, "a list of integers");
  std::vector<int64_t> list;
  for (size_t i = 0; node && i < node->items.size(); ++i) {
    const JsonNode& item = node->items[i];
    if (!item.is(NodeKind::integer) || item.integer < low || item.integer > high) {
      fail(field, "out_of_range", fmt::format("{} is out of range", describe(item)),
           fmt::format("{} to {}", low, high));
      return {};
    }
    list.push_back(item.integer);
  }
  return list;
}

std::optional<ModelConfig> ModelConfig::object(const std::string& field) {
  const JsonNode* node = expect(field, NodeKind::object, "an object");
  if (!node) return std::nullopt;
  return ModelConfig(*this, *node, field);
}

void ModelConfig::without_effect(std::initializer_list<const char*> fields) {
  used_.insert(fields.begin(), fields.end());
}

void ModelConfig::finish() {
  const std::vector<std::string> known(used_.begin(), used_.end());
  for (size_t i = 0; i < node_->keys.size(); ++i) {
    const std::string& key = node_->keys[i];
    const bool is_taken_away = node_->items[i].is(NodeKind::null) && node_->items[i].line == 0;
    if (used_.contains(key) || ignored_.contains(key) || is_taken_away) continue;
    const std::string hint =
        fmt::format("{}; \"ignore\": [\"{}\"] in the run file's model, or --ignore {} of `new`, leaves it out",
                    name_hint(key, known), path_of(key), path_of(key));
    errors_->push_back(
        {"unknown_field", fmt::format("unknown field '{}'", key), place(node_->items[i], path_of(key)), hint});
  }
}

ConfigDocument read_config_document(const OptionList& options) {
  namespace fs = std::filesystem;
  fs::path path = string_option(options, "path");
  if (path.empty()) {
    throw Failure(Error{"empty_path", "no model is named", "model.path", "a folder with config.json, or that file"});
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path /= "config.json";
  ConfigDocument result{path.string(), {}};
  try {
    result.document = read_json(read_file(path), result.file);
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) {
      if (error.code != "missing_file") continue;
      error.place = "model.path";
      error.message = fmt::format("there is no {}", result.file);
    }
    throw Failure(std::move(errors));
  }
  if (!result.document.is(NodeKind::object)) {
    throw Failure(Error{"wrong_type", "expected an object, got " + describe(result.document),
                        in_file(result.file, result.document.line), "a model's config.json"});
  }
  std::vector<Error> errors;
  FaultList(result.file, errors).check_repeated_keys(result.document, "");
  if (!errors.empty()) throw Failure(std::move(errors));
  constexpr std::string_view prefix = "overrides.";
  JsonNode overrides = JsonNode::object();
  for (const auto& [name, value] : options) {
    if (name.starts_with(prefix)) override_value(overrides, name.substr(prefix.size()), node_of(value));
  }
  clear_other_rotary_types(result.document, overrides);
  for (const auto& [name, value] : options) {
    if (name.starts_with(prefix)) override_value(result.document, name.substr(prefix.size()), node_of(value));
  }
  return result;
}

}  // namespace shardscope
