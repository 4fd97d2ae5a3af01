#include "engine/worker/load_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/checkpoint/weights_folder.h"
#include "engine/worker/stored_states.h"

namespace shardscope {

namespace {

constexpr size_t most_faults = 20;

// Arrays that are no parameters, or are another one again.
bool is_known_extra(const std::string& name) {
  for (const char* end : {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"}) {
    if (name.ends_with(end)) return true;
  }
  return name == "lm_head.weight";
}

// The names that the states of the model have in the files, in the plan's order; empty of other states.
class Matching {
 public:
  Matching(const std::vector<StoredState>& states, const WeightsFolder& weights) : weights_(weights) {
    std::set<std::string> left;
    for (const std::string& name : weights.names()) left.insert(name);
    for (const StoredState& state : states) {
      const std::optional<std::string> wanted = weight_name(state.name);
      if (!wanted) {
        names_.emplace_back();
        continue;
      }
      const std::string held = held_name(*wanted);
      left.erase(held);
      names_.push_back(held);
      const Shape* shape = weights.find(held);
      if (!shape) {
        add("missing_weight", fmt::format("there is no '{}' of shape {}", *wanted, to_string(state.type.shape)));
      } else if (*shape != state.type.shape) {
        add("weight_shape",
            fmt::format("'{}' is of shape {}, expected {}", held, to_string(*shape), to_string(state.type.shape)));
      }
    }
    for (const std::string& name : left) {
      if (!is_known_extra(name)) add("unknown_weight", fmt::format("'{}' is no parameter of the model", name));
    }
    if (!errors_.empty()) throw Failure(std::move(errors_));
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string held_name(const std::string& wanted) const {
    if (weights_.find(wanted)) return wanted;
    const std::string shorter = wanted.substr(wanted.find('.') + 1);
    return weights_.find(shorter) ? shorter : wanted;
  }
  void add(const char* code, std::string message) {
    if (errors_.size() == most_faults) return;
    errors_.push_back({code, std::move(message), in_file(weights_.path()),
                       "a model of this config, or \"initialise\": \"random\" in the run file's model"});
  }

  const WeightsFolder& weights_;
  std::vector<std::string> names_;
  std::vector<Error> errors_;
};

}  // namespace

void load_weights(const Plan& plan, int device, const Executor& executor) {
  const std::string folder = plan.training.weights;
  if (folder.empty()) return;
  const WeightsFolder weights(folder);
  const Matching matching(stored_states(plan), weights);
  const std::vector<int> values = stored_values(plan);
  for (size_t i = 0; i < values.size(); ++i) {
    const ProgramValue& value = plan.program.values.at(values[i]);
    const std::string& name = matching.names()[i];
    if (name.empty() || value.stage != executor.stage()) continue;
    const std::span<std::byte> bytes = executor.value(values[i]);
    const Box box = shard_box(value.sharding, plan.mesh, value.shape, device);
    weights.read(name, box, {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
  }
}

}  // namespace shardscope
