#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/options.h"
#include "engine/config/json_document.h"

namespace shardscope {

// Reads the fields of a model's config.json, or of an object in it, and knows which were read. Every fault is appended
// to `errors` and reading goes on with a legal value: at "FILE:LINE: field", or, of a value that the run file gives
// instead, at "model.overrides.field". A field that is missing, and one that is null, has its default, unless the
// reader asks is_null().
class ModelConfig {
 public:
  // `document` is an object and outlives this. `ignored`: fields that may be unknown, "rope_scaling.mine" of an object.
  ModelConfig(const JsonNode& document, std::string file, const TextList& ignored, std::vector<Error>& errors);

  // Without a default the field must be there.
  int64_t integer(const std::string& field, std::optional<int64_t> otherwise = {}, int64_t low = 1,
                  int64_t high = 1'000'000'000);
  std::optional<int64_t> maybe_integer(const std::string& field, int64_t low = 1, int64_t high = 1'000'000'000);
  double number(const std::string& field, std::optional<double> otherwise, double low, double high);
  std::optional<double> maybe_number(const std::string& field, double low, double high);
  bool boolean(const std::string& field, bool otherwise);
  // One of the choices.
  std::string text(const std::string& field, const std::string& otherwise, const std::vector<std::string>& choices);
  // A list of texts, each one of the choices; nothing where it is missing.
  std::optional<TextList> texts(const std::string& field, const std::vector<std::string>& choices);
  // A list of numbers, so many; nothing where it is missing.
  std::optional<std::vector<double>> numbers(const std::string& field, int64_t count, double low, double high);
  // A list of integers.
  std::vector<int64_t> integers(const std::string& field, int64_t low, int64_t high);
  // An object in this one; nothing where it is missing.
  std::optional<ModelConfig> object(const std::string& field);

  // Whether the field is there, be it null.
  bool says(const std::string& field) const { return node_->find(field) != nullptr; }
  // Whether it is there, and null.
  bool is_null(const std::string& field) const { return says(field) && !find(field); }
  // Whether the field may be unknown.
  bool ignores(const std::string& field) const { return ignored_.contains(field); }
  // Fields that change nothing here, whatever their values are.
  void without_effect(std::initializer_list<const char*> fields);
  // A fault of a field's value.
  void fail(const std::string& field, std::string code, std::string message, std::string hint = {});
  // Faults of the fields that nobody has read.
  void finish();

 private:
  ModelConfig(const ModelConfig& outer, const JsonNode& node, const std::string& field);
  const JsonNode* find(const std::string& field) const;  // nothing where it is null
  const JsonNode* use(const std::string& field);
  const JsonNode* expect(const std::string& field, JsonNode::Kind kind, const char* expected);
  Place place(const JsonNode& node, const std::string& path) const;
  std::string path_of(const std::string& field) const { return path_.empty() ? field : path_ + "." + field; }

  const JsonNode* node_;
  std::string file_, path_;
  std::set<std::string> ignored_, used_;
  std::vector<Error>* errors_;
};

// The config of a folder's model: PATH/config.json, or PATH where it is a file; with the run file's values in the place
// of its own: overrides "overrides.rope_scaling.factor" = 8, in the order of the list. Where they have another
// rope_type they replace the object that it is in, but for its rope_theta and partial_rotary_factor. Null is what a
// config means by it, and takes away what would be an unknown field. Throws Failure: what reading the file throws, with
// the place model.path where there is none; duplicate_key, where an object has one twice.
struct ConfigDocument {
  std::string file;
  JsonNode document;  // values that the run file gives have line 0
};
ConfigDocument read_config_document(const OptionList& options);

}  // namespace shardscope
