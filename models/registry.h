#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/expert_arrays.h"
#include "engine/base/options.h"
#include "engine/base/progress_lines.h"
#include "engine/graph/graph.h"

namespace shardscope {

// Equal blocks in which a model may work on the tokens (batch, length) of a batch and on its experts, so that a device
// can have some blocks to itself: as many of each as are worth while.
struct TokenBlocks {
  int64_t batch = 1, length = 1, experts = 1;
  bool operator==(const TokenBlocks&) const = default;
};

// What a model is built for: sizes of the data and switches of the run.
struct ModelContext {
  int64_t batch_size = 1;
  bool deterministic = true;
  int64_t seed = 0;             // of first values and dropout
  int64_t sequence_length = 0;  // what the data say; 0: nothing. For models that have no length of their own
  TokenBlocks blocks = {};
  // Numbers of the layers that are built alone, in order, of a network of more (graph/repeated_layers.h); empty: all.
  // Builders may build all nevertheless.
  std::vector<int> layers = {};
};

// A network: its hyperparameters, its forward pass with the loss, and the layouts worth printing. Knows no mesh.
struct ModelDefinition {
  std::string name;
  std::string summary;  // what it is, in one phrase, for lists
  std::vector<OptionDefinition> options;
  // Faults between hyperparameters ("embed_dim is not a multiple of num_heads"), with places "model.embed_dim".
  std::vector<Error> (*check)(const OptionList& options);
  // Forward graph: inputs (with their limits, of tokens), outputs: what the model gives ("logits", "predictions") and
  // the metrics: every output that is an f32 scalar, "loss" among them.
  Graph (*build)(const OptionList& options, const ModelContext& context);
  // Parameters, and states of the optimizer ({"optimizer", "momentum", "params", "w1"}), whose layouts are shown when
  // training starts, as caption and path, in order.
  std::vector<std::pair<std::string, std::vector<std::string>>> (*captions)(const OptionList& options);
  ProgressLines progress = {};
  // Where a network of these hyperparameters is not what the original's program would compute; or nullptr.
  std::vector<Error> (*notes)(const OptionList& options) = nullptr;
  // The folder of the files that hold its first parameters, by their paths behind "params" with "." for "/"; empty
  // where there is none. Nullptr: of a model that has no files.
  std::string (*weights)(const OptionList& options) = nullptr;
  // A description of it that others read, with its folder and the file it was read from: config.json, of parameters of
  // this type. Nullptr: it has none.
  struct Description {
    std::string folder, file, config;
    ExpertArrays experts = ExpertArrays::joined;             // as files of this family have them
    double adapter_scale = 0;                                // by which its adapters count
    bool in_out = false;                                     // weights of linear layers are (in, out), else (out, in)
    std::vector<std::pair<std::string, Shape>> states = {};  // that a model of this config has, by their names
  };
  Description (*describe)(const OptionList& options, DType parameters) = nullptr;
  // The text of the description as its file has it, in one line, without what options give in its place. Nullptr: it
  // has none.
  std::string (*description)(const OptionList& options) = nullptr;
  // The type that its files say it is meant for; nothing where they do not say. Nullptr: it has no files.
  std::optional<DType> (*dtype)(const OptionList& options) = nullptr;
  // Where options leave to the machine how a network of this context is computed: options that it may be built with as
  // well, instead of these, which stand where no machine decides. Nullptr: they leave nothing.
  std::vector<OptionList> (*alternatives)(const OptionList& options, const ModelContext& context) = nullptr;
};

// All models, by name. find_model gives nullptr for an unknown name.
const std::vector<ModelDefinition>& all_models();
const ModelDefinition* find_model(const std::string& name);

// Of each model, which is a function of its name. Written by the build (cmake/registered.cmake).
std::vector<ModelDefinition> model_definitions();

}  // namespace shardscope
