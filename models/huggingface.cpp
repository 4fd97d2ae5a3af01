#include "models/huggingface.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "engine/base/plural.h"
#include "engine/base/weight_files.h"
#include "models/compute_dtype.h"
#include "models/decoder.h"
#include "models/families.h"
#include "models/frozen_parameters.h"

namespace shardscope {

namespace {

namespace fs = std::filesystem;

constexpr int64_t longest_by_default = 4096;

// What transformers would load it as: "dtype", or its former name.
std::optional<DType> read_dtype(ModelConfig& fields) {
  const std::vector<std::string> types = {"float32", "bfloat16", "float16"};
  const std::string former = fields.text("torch_dtype", "", types), now = fields.text("dtype", former, types);
  if (now.empty()) return std::nullopt;
  return now == "bfloat16" ? DType::bf16 : now == "float16" ? DType::f16 : DType::f32;
}

// What makes queries and values, as peft takes them for families that it knows.
std::vector<std::string> usual_targets(const DecoderOptions& decoder) {
  if (decoder.latent) return {decoder.latent->query_rank > 0 ? "q_b_proj" : "q_proj", "kv_b_proj"};
  if (!decoder.names.joined_heads.empty()) return {decoder.names.joined_heads};
  return {decoder.names.query, decoder.names.value};
}

void read_adapters(const OptionList& options, DecoderOptions& decoder) {
  DecoderAdapters& adapters = decoder.adapters;
  adapters.rank = integer_option(options, "lora.rank");
  if (adapters.rank == 0) return;
  adapters.scale = real_option(options, "lora.alpha") / static_cast<double>(adapters.rank);
  adapters.targets = list_option(options, "lora.targets");
  if (adapters.targets.empty()) adapters.targets = usual_targets(decoder);
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
  read_adapters(options, decoder);
  return decoder;
}

std::string folder_of(const OptionList& options) {
  const fs::path path = string_option(options, "path");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return path.string();
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

bool begins_from_weights(const OptionList& options) { return string_option(options, "initialise") == "weights"; }

std::vector<Error> check_huggingface(const OptionList& options) {
  std::vector<Error> errors;
  try {
    read_decoder(options, 1, errors);
  } catch (const Failure& failure) {
    return failure.errors();
  }
  const std::string folder = folder_of(options);
  if (begins_from_weights(options) && weights_file(folder).empty()) {
    if (std::optional<Error> refused = unusable_weights(folder)) errors.push_back(std::move(*refused));
  }
  return errors;
}

// As long as the data's sequences, else as the config's longest.
int64_t length_for(const ModelContext& context, const DecoderOptions& decoder) {
  return context.sequence_length > 0 ? context.sequence_length : std::min(decoder.positions, longest_by_default);
}

// Each part of the ring has two chunks.
bool has_chunks(int64_t parts, int64_t length) { return length % (2 * parts) == 0; }

// In how many blocks a sequence of `length`, split into `parts`, goes round a ring.
int64_t ring_blocks(const std::string& way, const DecoderOptions& decoder, int64_t parts, int64_t length) {
  const bool divides = has_chunks(parts, length);
  const bool windows = std::ranges::any_of(decoder.layers, [](const DecoderLayer& layer) { return layer.window > 0; });
  if (way == "gather" || (way == "auto" && (windows || !divides))) return 1;
  if (divides) return parts;
  throw Failure(Error{"indivisible",
                      fmt::format("a sequence of {} positions has no {}, two for each part of the ring", length,
                                  counted(2 * parts, "chunk")),
                      "model.context_attention", "\"gather\", or a length that divides"});
}

Graph build_huggingface(const OptionList& options, const ModelContext& context) {
  std::vector<Error> errors;
  DecoderOptions decoder = read_decoder(options, 1, errors);
  const int64_t length = length_for(context, decoder);
  if (!errors.empty()) throw Failure(std::move(errors));
  decoder = read_decoder(options, length, errors);  // positions may depend on the length
  if (decoder.learned_positions && length > decoder.positions) {
    throw Failure(Error{"out_of_range",
                        fmt::format("{} positions, and the model has learned {}", length, decoder.positions),
                        "data.sequence_length", fmt::format("at most {}", decoder.positions)});
  }
  decoder.experts.capacity_factor = real_option(options, "capacity_factor");
  decoder.blocks = context.blocks;
  decoder.ring_blocks =
      ring_blocks(string_option(options, "context_attention"), decoder, context.blocks.length, length);
  Graph graph = build_decoder(decoder, context, length, compute_dtype(options));
  freeze_parameters(graph, options);
  return graph;
}

// Of a split length, what context_attention "auto" does not stand for.
std::vector<OptionList> huggingface_alternatives(const OptionList& options, const ModelContext& context) {
  const int64_t parts = context.blocks.length;
  const std::string automatic = "auto", option = "context_attention";
  if (parts == 1 || string_option(options, option) != automatic) return {};
  std::vector<Error> errors;
  const DecoderOptions decoder = read_decoder(options, 1, errors);
  const int64_t length = length_for(context, decoder);
  if (!has_chunks(parts, length)) return {};
  OptionList other = options;
  const bool rings = ring_blocks(automatic, decoder, parts, length) > 1;
  std::ranges::find(other, option, [](const auto& entry) { return entry.first; })->second =
      std::string(rings ? "gather" : "ring");
  return {std::move(other)};
}

// Shares of elements that transformers would drop in training, and nothing drops here; those that "ignore" names aside.
std::vector<Error> huggingface_notes(const OptionList& options) {
  std::vector<Error> notes;
  const ConfigDocument config = read_config_document(options);
  const TextList& ignored = list_option(options, "ignore");
  const auto look = [&](const JsonNode& object, const std::string& path) {
    for (const char* field : {"attention_dropout", "attn_pdrop", "resid_pdrop", "embd_pdrop", "emb_pdrop",
                              "hidden_dropout", "activation_dropout"}) {
      const JsonNode* node = object.find(field);
      if (!node || node->number == 0 || std::ranges::find(ignored, field) != ignored.end()) continue;
      notes.push_back({"no_dropout", fmt::format("{} {} of {} is not applied", path + field, node->number, config.file),
                       fmt::format("model.overrides.{}{}", path, field),
                       fmt::format("0, or \"ignore\": [\"{}\"]", field)});
    }
  };
  look(config.document, "");
  if (const JsonNode* attention = config.document.find("attn_config")) look(*attention, "attn_config.");
  return notes;
}

std::vector<std::pair<std::string, std::vector<std::string>>> huggingface_captions(const OptionList&) { return {}; }

std::string weights_of(const OptionList& options) {
  const std::string folder = folder_of(options);
  return begins_from_weights(options) && !weights_file(folder).empty() ? folder : std::string();
}

std::optional<DType> dtype_of_config(const OptionList& options) {
  std::vector<Error> errors;
  return read_decoder(options, 1, errors).dtype;
}

std::string description_as_it_is(const OptionList& options) {
  OptionList own = options;
  std::erase_if(own, [](const auto& option) { return option.first.starts_with("overrides."); });
  return print_json_line(read_config_document(own).document);
}

std::vector<std::pair<std::string, Shape>> states_of(const DecoderOptions& decoder) {
  const ModelContext context;
  const Graph graph = build_decoder(decoder, context, length_for(context, decoder), DType::f32);
  std::vector<std::pair<std::string, Shape>> states;
  for (const State& state : graph.states) states.emplace_back(graph.name(state), graph.type(state.before).shape);
  return states;
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
  config.document.remove("quantization_config");  // what is written is not quantised
  std::vector<Error> errors;
  const JsonNode* family = config.document.find("model_type");
  ExpertArrays experts = ExpertArrays::joined;
  if (family && family->text == "mixtral") experts = ExpertArrays::mixtral;
  if (family && (family->text == "qwen3_moe" || family->text == "deepseek_v3")) experts = ExpertArrays::by_expert;
  const DecoderOptions decoder = read_decoder(options, 1, errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  return {folder_of(options),     config.file,    print_json(config.document), experts,
          decoder.adapters.scale, decoder.in_out, states_of(decoder)};
}

}  // namespace

ModelDefinition huggingface() {
  std::vector<OptionDefinition> options{
      {"path", std::string("llama"), true, 0, 0, "a folder with config.json, or that file", {}, true},
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
       "of a split length: keys and values round a ring, or gathered; auto: what is predicted faster and fits, as "
       "written a ring unless a layer has a window",
       {"auto", "ring", "gather"}},
      compute_dtype_option()};
  std::ranges::move(frozen_options(), std::back_inserter(options));
  return {"huggingface",
          "a decoder that Hugging Face's transformers knows, from its config.json and weights",
          std::move(options),
          check_huggingface,
          build_huggingface,
          huggingface_captions,
          {},
          huggingface_notes,
          weights_of,
          describe,
          description_as_it_is,
          dtype_of_config,
          huggingface_alternatives};
}

}  // namespace shardscope
