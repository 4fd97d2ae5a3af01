#include "engine/worker/load_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/checkpoint/float_types.h"
#include "engine/checkpoint/stored_weight.h"
#include "engine/worker/stored_states.h"

namespace shardscope {

namespace {

constexpr size_t most_faults = 20;
const std::string head_name = "lm_head.weight";

// Arrays that are no parameters, or are another one again.
bool is_known_extra(const std::string& name) {
  for (const char* end : {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"}) {
    if (name.ends_with(end)) return true;
  }
  return name == head_name;
}

// The embedding of tokens, as families call it.
bool is_embedding(const std::string& name) {
  return name.ends_with("embed_tokens.weight") || name.ends_with("wte.weight");
}

bool is_of_adapter(const std::string& name) {
  return name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight");
}

// How the folder has each state of the model, in the plan's order; nothing of other states.
class Matching {
 public:
  Matching(const std::vector<StoredState>& states, const WeightsFolder& folder) : folder_(folder) {
    std::set<std::string> left;
    for (const std::string& name : folder.names()) left.insert(name);
    is_tied_ =
        std::ranges::none_of(states, [](const StoredState& state) { return weight_name(state.name) == head_name; });
    for (const StoredState& state : states) {
      const std::optional<std::string> wanted = weight_name(of_master(state.name).value_or(state.name));
      weights_.push_back(wanted ? find(*wanted, state.type.shape) : nullptr);
      if (wanted) count_layer(*wanted);
      if (!weights_.back()) continue;
      for (const std::string& array : weights_.back()->arrays()) left.erase(array);
      if (is_tied_ && is_embedding(*wanted)) embeddings_.push_back(weights_.back().get());
    }
    if (is_tied_ && !embeddings_.empty() && left.contains(head_name)) find_head(*embeddings_[0]);
    for (const std::string& name : left) {
      if (is_known_extra(name) || is_of_prediction(name)) continue;
      add("unknown_weight", fmt::format("'{}' is no parameter of the model", name));
    }
    if (!errors_.empty()) throw Failure(std::move(errors_));
  }

  const std::vector<std::unique_ptr<StoredWeight>>& weights() const { return weights_; }
  int64_t skipped() const { return skipped_; }
  // Throws where rows of an embedding that are these are not those of an output layer that the file has besides, though
  // the config says that they are one.
  void require_same_head(const StoredWeight* weight, const Box& box, std::span<const float> values) const {
    if (!head_ || std::ranges::find(embeddings_, weight) == embeddings_.end()) return;
    constexpr int64_t most = 1 << 20;
    const int64_t columns = std::max<int64_t>(box.size[1], 1), rows = std::max<int64_t>(most / columns, 1);
    std::vector<float> of_head;
    for (int64_t row = 0; row < box.size[0]; row += rows) {
      Box part = box;
      part.start[0] += row;
      part.size[0] = std::min(rows, box.size[0] - row);
      const auto count = static_cast<size_t>(element_count(part.size));
      of_head.resize(count);
      head_->read(part, of_head);
      if (std::memcmp(of_head.data(), values.data() + row * columns, count * sizeof(float)) == 0) continue;
      throw Failure(Error{
          "tied_weights",
          fmt::format("'{}' and '{}' differ, and the config says that they are one", head_name, weight->arrays()[0]),
          in_file(folder_.path()), "\"tie_word_embeddings\": false in model.overrides, or the weights of this config"});
    }
  }

 private:
  void find_head(const StoredWeight& embedding) {
    head_ = find_weight(folder_, head_name, embedding.shape());
    if (head_->shape() == embedding.shape()) return;
    add("weight_shape",
        fmt::format("'{}' is of shape {}, and '{}', which the config says is the same, of {}", head_name,
                    to_string(head_->shape()), embedding.arrays()[0], to_string(embedding.shape())));
  }

  std::unique_ptr<StoredWeight> find(const std::string& wanted, const Shape& shape) {
    std::unique_ptr<StoredWeight> found = find_weight(folder_, wanted, shape);
    if (!found && is_tied_ && is_embedding(wanted)) found = find_weight(folder_, head_name, shape);
    if (!found && is_of_adapter(wanted)) return found;  // it begins from its own first values
    if (!found) {
      add("missing_weight", fmt::format("there is no '{}' of shape {}", wanted, to_string(shape)));
    } else if (found->shape() != shape) {
      add("weight_shape", fmt::format("'{}' is of shape {}, expected {}", found->arrays()[0], to_string(found->shape()),
                                      to_string(shape)));
    }
    return found;
  }

  // The number N of "model.layers.N.mlp...", or -1.
  static int64_t layer_of(const std::string& name) {
    const size_t at = name.find("layers.");
    const size_t digits = at == std::string::npos ? at : at + 7;
    if (digits >= name.size() || std::isdigit(static_cast<unsigned char>(name[digits])) == 0) return -1;
    return std::strtoll(name.c_str() + digits, nullptr, 10);
  }
  void count_layer(const std::string& name) { layers_ = std::max(layers_, layer_of(name) + 1); }

  // Of a layer behind the model's last one that is for multi-token prediction, as DeepSeek-V3 has it.
  bool is_of_prediction(const std::string& name) {
    const int64_t layer = layer_of(name);
    const bool skipped = name.starts_with("mtp.") ||
                         (layer >= layers_ && folder_.find(fmt::format("model.layers.{}.eh_proj.weight", layer)));
    skipped_ += skipped;
    return skipped;
  }

  void add(const char* code, std::string message) {
    if (errors_.size() == most_faults) return;
    errors_.push_back({code, std::move(message), in_file(folder_.path()),
                       "a model of this config, or \"initialise\": \"random\" in the run file's model"});
  }

  const WeightsFolder& folder_;
  std::vector<std::unique_ptr<StoredWeight>> weights_;
  std::vector<Error> errors_;
  std::vector<const StoredWeight*> embeddings_;  // of a tied model: that of the parameter, and of its master copy
  std::unique_ptr<StoredWeight> head_;           // of a tied model, where the folder has one besides
  int64_t layers_ = 0, skipped_ = 0;
  bool is_tied_ = false;
};

}  // namespace

void load_weights(const Plan& plan, int device, const Executor& executor,
                  const std::function<void(const std::string&)>& note) {
  const std::string path = plan.training.weights;
  if (path.empty()) return;
  const WeightsFolder folder(path);
  const Matching matching(stored_states(plan), folder);
  if (matching.skipped() > 0 && note) {
    note(fmt::format("{}: {} of layers behind the model's last one (multi-token prediction) skipped", path,
                     counted(matching.skipped(), "array")));
  }
  const std::vector<int> values = stored_values(plan);
  for (size_t i = 0; i < values.size(); ++i) {
    const ProgramValue& value = plan.program.values.at(values[i]);
    const StoredWeight* weight = matching.weights()[i].get();
    if (!weight || value.stage != executor.stage()) continue;
    const std::span<std::byte> bytes = executor.value(values[i]);
    const Box box = shard_box(value.sharding, plan.mesh, value.shape, device);
    if (value.dtype == DType::f32) {
      const std::span<float> values(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
      weight->read(box, values);
      matching.require_same_head(weight, box, values);
      continue;
    }
    std::vector<float> whole(static_cast<size_t>(element_count(box.size)));
    weight->read(box, whole);
    matching.require_same_head(weight, box, whole);
    cast_floats(DType::f32, std::as_bytes(std::span(whole)), value.dtype, bytes);
  }
}

}  // namespace shardscope
