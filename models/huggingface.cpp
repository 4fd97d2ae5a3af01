#include "models/huggingface.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/compute_dtype.h"
#include "models/decoder.h"
#include "models/families.h"

namespace shardscope {

namespace {

constexpr int64_t longest_by_default = 4096;

// What transformers would load it as: "dtype", or its former name.
std::optional<DType> read_dtype(ModelConfig& fields) {
  const std::vector<std::string> types = {"float32", "bfloat16", "float16"};
  const std::string former = fields.text("torch_dtype", "", types), now = fields.text("dtype", former, types);
  if (now.empty()) return std::nullopt;
  return now == "bfloat16" ? DType::bf16 : now == "float16" ? DType::f16 : DType::f32;
}

// The decoder that the options name, for sequences of `length` positions. Throws Failure where no config can be read.
DecoderOptions read_decoder(const OptionList& options, int64_t length, std::vector<Error>& errors) {
  const ConfigDocument config = read_config_document(options);
  ModelConfig fields(config.document, config.file, list_option(options, "ignore"), errors);
  std::vector<std::string> types;
  for (const ModelFamily& family : model_families()) types.emplace_back(family.model_type);
  const size_t before = errors.size();
  const std::string type = fields.text("model_type", "", types);
  if (type.empty() && errors.size() == before) {
    fields.fail("model_type", "missing_key", "'model_type' is missing", fmt::format("such as \"{}\"", types.front()));
  }
  if (type.empty()) throw Failure(errors);
  const auto family = std::ranges::find(model_families(), type, &ModelFamily::model_type);
  DecoderOptions decoder = family->read(fields, length);
  decoder.dtype = read_dtype(fields);
  fields.finish();
  return decoder;
}

std::vector<Error> check_huggingface(const OptionList& options) {
  std::vector<Error> errors;
  try {
    read_decoder(options, 1, errors);
  } catch (const Failure& failure) {
    return failure.errors();
  }
  return errors;
}

// In how many blocks a sequence of `length`, split into `parts`, goes round a ring.
int64_t ring_blocks(const std::string& way, const DecoderOptions& decoder, int64_t parts, int64_t length) {
  const bool divides = length % (2 * parts) == 0;
  const bool windows = std::ranges::any_of(decoder.layers, [](const DecoderLayer& layer) { return layer.window > 0; });
  if (way == "gather" || (way == "auto" && (windows || !divides))) return 1;
  if (divides) return parts;
  throw Failure(Error{
      "indivisible",
      fmt::format("a sequence of {} positions has no {} chunks, two for each part of the ring", length, 2 * parts),
      "model.context_attention", "\"gather\", or a length that divides"});
}

Graph build_huggingface(const OptionList& options, const ModelContext& context) {
  std::vector<Error> errors;
  DecoderOptions decoder = read_decoder(options, 1, errors);
  const int64_t length =
      context.sequence_length > 0 ? context.sequence_length : std::min(decoder.positions, longest_by_default);
  if (context.sequence_length > 0) decoder = read_decoder(options, length, errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  if (decoder.learned_positions && length > decoder.positions) {
    throw Failure(Error{"out_of_range",
                        fmt::format("{} positions, and the model has learned {}", length, decoder.positions),
                        "data.sequence_length", fmt::format("at most {}", decoder.positions)});
  }
  decoder.experts.capacity_factor = real_option(options, "capacity_factor");
  decoder.blocks = context.blocks;
  decoder.ring_blocks =
      ring_blocks(string_option(options, "context_attention"), decoder, context.blocks.length, length);
  return build_decoder(decoder, context, length, compute_dtype(options));
}

std::vector<std::pair<std::string, std::vector<std::string>>> huggingface_captions(const OptionList&) { return {}; }

std::string weights_of(const OptionList& options) {
  namespace fs = std::filesystem;
  if (string_option(options, "initialise") != "weights") return {};
  fs::path folder = string_option(options, "path");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) folder = folder.parent_path();
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(folder / name, ignored)) return folder.string();
  }
  return {};
}

std::optional<DType> dtype_of_config(const OptionList& options) {
  std::vector<Error> errors;
  return read_decoder(options, 1, errors).dtype;
}

ModelDefinition::Description describe(const OptionList& options, DType parameters) {
  ConfigDocument config = read_config_document(options);
  const std::string old = "torch_dtype", type = parameters == DType::bf16 ? "bfloat16" : "float32";
  for (const std::string& field : {old, std::string("dtype")}) {
    JsonNode* node = config.document.find(field);
    if (node) *node = JsonNode::of(type);
  }
  if (!config.document.find(old) && !config.document.find("dtype")) {
    config.document.add("dtype", JsonNode::of(type));
  }
  return {std::filesystem::path(config.file).parent_path().string(), print_json(config.document)};
}

}  // namespace

ModelDefinition huggingface() {
  return {"huggingface",
          "a decoder that Hugging Face's transformers knows, from its config.json and weights",
          {{"path", std::string("llama"), true, 0, 0, "a folder with config.json, or that file", {}, true},
           {"overrides", std::string(), false, 0, 0, "fields that replace those of config.json", {}, false, true},
           {"ignore", TextList{}, false, 0, 0, "fields of config.json that may be unknown"},
           {"initialise",
            std::string("weights"),
            false,
            0,
            0,
            "first values: the folder's weights where there are any, or random",
            {"weights", "random"}},
           {"capacity_factor", 0.0, false, 0, 1e6,
            "room for tokens at a block of experts, over what it gets where all are chosen equally often; 0: for all"},
           {"context_attention",
            std::string("auto"),
            false,
            0,
            0,
            "of a split length: keys and values round a ring, or gathered; auto: a ring unless a layer has a window",
            {"auto", "ring", "gather"}},
           compute_dtype_option()},
          check_huggingface,
          build_huggingface,
          huggingface_captions,
          {},
          nullptr,
          weights_of,
          describe,
          dtype_of_config};
}

}  // namespace shardscope
